#include <catch2/catch.hpp>

#include "runtime/chemistry/files/molecule_in_results.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/results.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

BlockIndex block(std::int32_t i, std::int32_t j) {
  BlockIndex b;
  b.rank = 2;
  b.segment[0] = i;
  b.segment[1] = j;
  return b;
}

const SavedLayout layout{"t", {1, 2}, {{2, 1}, {1, 2}}};  // 3 x 3, segments 1,2 and 2,3

void write(const std::string& path, std::int64_t dense_limit) {
  ResultsWriter w(path, dense_limit);
  Molecule molecule;
  molecule.atoms = {{8, "O", {0, 0, 0.25}}, {1, "He", {0, 1, 2}}};
  molecule.atoms[1].core_electrons = 1;
  molecule.multiplicity = 3;
  molecule.basis_name = "sto-3g";
  w.about("1.2", 1700000000, {{"ao", {2, 1}}});
  write_molecule(w.file(), molecule);
  w.program({"scf", "abc", {}, {}});
  w.scalar("energy", -1.0);
  w.scalar("charge", 2.0);
  w.static_array("f", {{1}, {7}});
  ProgramDescription second{"mp2", "def", {}, {}};
  second.statics["f"] = {"static", {"i", "j"}, {"aoindex", "index"}, {1, 2}, {{2}, {1, 1, 1}}};
  second.saved["t2"] = {"distributed", {"a", "b"}, {"moaindex", "mobindex"}, {1, 2}, {{2, 1}, {1, 2}}};
  second.saved["c"] = {"static", {"mu", "p"}, {"aoindex", "moaindex"}, {1, 2}, {{2}, {1, 1}}};
  w.program(second);
  w.scalar("energy", -76.5);
  w.integer("iterations", 12);
  w.static_array("f", {{2, 3}, {1, 2, 3, 4, 5, 6}});
  w.integer("f", 3);  // of another module that it imports
  w.saved_scalar("e.scf/total", 2.5);
  w.saved_static("c", {{2, 2}, {1, 2, 3, 4}});
  w.begin_saved("t2", layout);
  w.saved_block(block(1, 3), Values{1, 2, 3, 4});
  w.saved_block(block(2, 2), Values{9});
  w.end_saved();
  w.finish();
}

}  // namespace

TEST_CASE("a results file says in what its molecule differs") {
  Folder f;
  const std::string path = f.path("r.h5");
  write(path, 1000);
  const ResultsReader reader(path);
  Molecule same;
  same.atoms = {{8, "O", {0, 0, 0.25}}, {1, "He", {0, 1, 2 + 1e-8}}};
  same.multiplicity = 3;
  same.basis_name = "sto-3g";
  CHECK(molecule_difference(reader.file(), same).empty());
  const auto changed = [&](auto&& change) {
    Molecule other = same;
    change(other);
    return molecule_difference(reader.file(), other);
  };
  CHECK(changed([](Molecule& m) { m.atoms.pop_back(); }) == "it had 2 atoms, not 1");
  CHECK(changed([](Molecule& m) { m.atoms[1].charge = 2; }) == "atom 2 had nuclear charge 1, not 2");
  CHECK(changed([](Molecule& m) { m.atoms[1].position[2] = 2.1; }) ==
        "atom 2 (He) lay 0.05292 Angstrom from where it is now");
  CHECK(changed([](Molecule& m) { m.charge = 1; }) == "its charge was 0, not 1");
  CHECK(changed([](Molecule& m) { m.multiplicity = 1; }) == "its multiplicity was 3, not 1");
  CHECK(changed([](Molecule& m) { m.frozen_core = 1; }) == "its frozen_core was 0, not 1");
  CHECK(changed([](Molecule& m) { m.basis_name = "3-21g"; }) == "its basis was sto-3g, not 3-21g");
}

TEST_CASE("results are read back as they were written, dense or by blocks") {
  Folder f;
  for (std::int64_t limit : {1000, 4}) {
    std::string path = f.path("new/folder/r.h5");
    write(path, limit);
    Hdf5File raw = Hdf5File::open(path);
    CHECK(raw.read("scalars/energy") == Values{-76.5});
    CHECK(raw.read_ints("ints/iterations") == std::vector<std::int32_t>{12});
    CHECK(raw.read("scalars/charge") == Values{2});
    CHECK(raw.list("programs") == std::vector<std::string>{"1_scf", "2_mp2"});
    CHECK(raw.read("programs/1_scf/energy") == Values{-1});
    CHECK(raw.read("programs/1_scf/f") == Values{7});
    CHECK(raw.read("programs/2_mp2/energy") == Values{-76.5});
    CHECK(raw.read_ints("programs/2_mp2/f'") == std::vector<std::int32_t>{3});
    CHECK(raw.read_ints("segments/ao") == std::vector<std::int32_t>{2, 1});
    CHECK(raw.read("molecule/coordinates") == Values{0, 0, 0.25, 0, 1, 2});
    CHECK(raw.extents("molecule/coordinates") == std::vector<std::int64_t>{3, 2});
    CHECK(raw.read_ints("molecule/charges") == std::vector<std::int32_t>{8, 1});
    CHECK(raw.attribute_ints("/", "format_version") == std::vector<std::int64_t>{2});
    CHECK(raw.attribute_ints("molecule", "multiplicity") == std::vector<std::int64_t>{3});
    CHECK(raw.attribute_ints("statics/f", "segment_extents") == std::vector<std::int64_t>{2, 1, 1, 1});
    CHECK(raw.attribute_text("saved/statics/c", "indices") == "mu,p");
    CHECK(raw.attribute_text("saved/statics/c", "index_kinds") == "aoindex,moaindex");
    CHECK(raw.attribute_ints("saved/statics/c", "segment_extents") == std::vector<std::int64_t>{2, 1, 1});
    CHECK(raw.extents("statics/f") == std::vector<std::int64_t>{2, 3});
    CHECK(raw.read("statics/f") == Values{1, 2, 3, 4, 5, 6});
    if (limit == 1000) CHECK(raw.read("saved/arrays/t2") == Values{0, 0, 9, 1, 2, 0, 3, 4, 0});
    else CHECK(raw.list("saved/arrays/t2") == std::vector<std::string>{"1.3", "2.2"});

    ResultsReader r(path);
    CHECK(r.saved_scalars() == std::map<std::string, double>{{"e.scf/total", 2.5}});
    CHECK(r.saved_statics().at("c").data == Values{1, 2, 3, 4});
    CHECK(r.segments() == std::map<std::string, std::vector<std::int32_t>>{{"ao", {2, 1}}});
    CHECK(r.saved_arrays() == std::vector<std::string>{"t2"});
    CHECK(r.layout("t2").first_segment == layout.first_segment);
    CHECK(r.layout("t2").extents == layout.extents);
    CHECK(r.blocks("t2") == std::vector<BlockIndex>{block(1, 3), block(2, 2)});
    CHECK(r.block("t2", block(1, 3)) == Values{1, 2, 3, 4});
    CHECK(r.block("t2", block(2, 2)) == Values{9});
    CHECK_THAT(error_of([&] { r.layout("t3"); }), Contains("no saved array `t3`") && Contains("t2"));
  }
}

TEST_CASE("a static array over more values than an attribute holds is written without its segments") {
  Folder f;
  ResultsWriter w(f.path("r.h5"));
  ProgramDescription program{"p", "abc", {}, {}};
  const std::int64_t n = 20000;
  program.statics["x"] = {"static", {"k"}, {"index"}, {1}, {std::vector<std::int64_t>(n, 1)}};
  w.program(program);
  w.static_array("x", {{n}, Values(n, 0.5)});
  w.finish();
  Hdf5File raw = Hdf5File::open(f.path("r.h5"));
  CHECK(raw.read("statics/x") == Values(n, 0.5));
  CHECK_THAT(error_of([&] { raw.attribute_ints("statics/x", "segment_extents"); }), Contains("no attribute"));
}

TEST_CASE("a file of format 1 is read") {
  Folder f;
  PartFile part(f.path("r.h5"), "");
  Hdf5File old = Hdf5File::create(part);
  for (const char* group : {"saved", "saved/scalars", "saved/statics", "saved/arrays", "saved/blocks"})
    old.make_group(group);
  const double value = 2.5;
  old.write("saved/scalars/e", std::vector<std::int64_t>{}, std::span<const double>(&value, 1));
  old.close();
  part.finish(Durability::on_disk);
  CHECK(ResultsReader(f.path("r.h5")).saved_scalars() == std::map<std::string, double>{{"e", 2.5}});
}

TEST_CASE("an unfinished results file leaves nothing") {
  Folder f;
  {
    ResultsWriter w(f.path("r.h5"));
    w.program({"p", "abc", {}, {}});
    w.scalar("x", 1.0);
  }
  CHECK(std::filesystem::is_empty(f.path("")));
}

TEST_CASE("results that cannot be written or read") {
  Folder f;
  f.write("file", "text");
  CHECK_THAT(error_of([&] { ResultsWriter w(f.path("file/r.h5")); }), Contains("file/r.h5"));
  CHECK_THAT(error_of([&] { ResultsReader r(f.path("file")); }), Contains("HDF5"));
  CHECK_THAT(error_of([&] { ResultsReader r(f.path("none.h5")); }), Contains("none.h5"));
  PartFile other(f.path("other.h5"), "");
  Hdf5File::create(other).close();
  other.finish(Durability::until_crash);
  CHECK_THAT(error_of([&] { ResultsReader r(f.path("other.h5")); }), Contains("not a results file"));
  write(f.path("r.h5"), 1000);
  auto size = std::filesystem::file_size(f.path("r.h5"));
  for (auto keep : {size - 8, size / 2, std::uintmax_t{100}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(f.path("r.h5"), keep);
    CHECK_THAT(error_of([&] {
                 ResultsReader r(f.path("r.h5"));
                 r.saved_statics();
                 for (const BlockIndex& b : r.blocks("t2")) r.block("t2", b);
               }),
               Contains("r.h5"));
  }
}

TEST_CASE("labels with any bytes come back whole") {
  Folder f;
  const std::vector<std::string> labels{
      std::string("a\0b", 3), std::string("a\0c", 3), "a/b", "..", "%00", "\x1b[m", ""};
  {
    ResultsWriter w(f.path("r.h5"));
    double value = 0;
    for (const std::string& label : labels) w.saved_scalar(label, ++value);
    w.begin_saved(labels[0], layout);
    w.saved_block(block(2, 2), Values{9});
    w.end_saved();
    w.finish();
  }
  ResultsReader r(f.path("r.h5"));
  const auto saved = r.saved_scalars();
  REQUIRE(saved.size() == labels.size());
  double value = 0;
  for (const std::string& label : labels) CHECK(saved.at(label) == ++value);
  CHECK(r.block(r.saved_arrays().at(0), block(2, 2)) == Values{9});
  CHECK(r.saved_arrays().at(0) == labels[0]);
}

TEST_CASE("impossible layouts") {
  CHECK(is_possible(layout));
  CHECK(block_size(layout, block(1, 3)) == 4);
  CHECK(block_size(layout, block(0, 3)) == -1);
  CHECK(block_size(layout, block(2147483647, 3)) == -1);
  BlockIndex deep = block(1, 3);
  deep.rank = 99;
  CHECK(block_size(layout, deep) == -1);
  CHECK(!is_possible({"t", {}, {}}));
  CHECK(!is_possible({"t", {1}, {{1}, {1}}}));
  CHECK(!is_possible({"t", {1}, {{-1}}}));
  CHECK(!is_possible({"t", {2147483647}, {{1}}}));
  CHECK(!is_possible({"t", {1, 1}, {{std::int64_t{1} << 62}, {4}}}));
}
