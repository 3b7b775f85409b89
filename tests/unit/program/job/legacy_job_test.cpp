// Initial data as jobs: molecule and basis, values, segments cut anew, programs in folders, and the way back to a data
// file.
#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/chemistry/segments/resegment.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/program/job/describe.h"
#include "runtime/program/job/job_file.h"
#include "tests/unit/program/job/folder.h"
#include "tests/unit/program/job/legacy_sample.h"

using namespace sial;
using Catch::Matchers::Contains;
using Sizes = std::vector<std::int32_t>;

namespace {

template <class Change>
std::string error_with(Change change) {
  LegacyDat d = sample_dat();
  change(d);
  return error_of([&] { legacy_job(parse_legacy_dat(format_legacy_dat(d), "x.dat"), "x.dat"); });
}

LegacyArray<double>& real_array(LegacyDat& d, const std::string& name) {
  for (auto& a : d.arrays)
    if (a.name == name) return a;
  throw std::logic_error(name);
}

LegacyArray<std::int32_t>& int_array(LegacyDat& d, const std::string& name) {
  for (auto& a : d.int_arrays)
    if (a.name == name) return a;
  throw std::logic_error(name);
}

}  // namespace

TEST_CASE("initial data become a job") {
  const Job job = legacy_job(sample_dat(), "x.dat");
  CHECK(job.data.ints.at("lindep_tol") == 8);
  CHECK(job.data.ints.at("scf_iter") == 150);
  CHECK(job.data.ints.at("scf_hist") == 8);  // not in the file: the default of every job
  CHECK(job.data.ints.at("iecp_on") == 0);   // nor that there are no core potentials
  CHECK(job.data.scalars.at("cc_conv") == 1e-12);
  CHECK(job.data.segments.at(IndexKind::ao) == Sizes{5, 10});
  CHECK(job.data.arrays.at("coords").extents == std::vector<std::int64_t>{3, 2});
  CHECK(job.data.arrays.at("clp").data.empty());
  CHECK(job.data.int_arrays.at("npfps").data == Sizes{3, 2, 2, 2, 1});
  REQUIRE(chemistry(job.data).has_molecule);
  CHECK(job.data.ints.at("natoms") == static_cast<std::int32_t>(chemistry(job.data).molecule.atoms.size()));
  const Molecule& m = chemistry(job.data).molecule;
  REQUIRE(m.atoms.size() == 2);
  CHECK(m.atoms[0].symbol == "C");
  CHECK(m.atoms[1].position[2] == 0.9);
  CHECK(m.charge == 0);
  CHECK(m.multiplicity == 1);
  CHECK(m.frozen_core == 2);
  CHECK(electron_counts(m) == std::pair(7, 7));
  CHECK(nuclear_repulsion(m) == Approx(48.0 / 2.1));
  REQUIRE(m.shells.size() == 5);
  CHECK(m.n_basis() == 15);
  CHECK(m.shells[0].n_contractions == 2);
  CHECK(m.shells[0].coefficients == std::vector<double>{0.154, 0.535, 0.444, 0.0, 0.0, 1.0});
  CHECK(m.shells[0].exponents == std::vector<double>{71.616837, 13.045096, 3.5305122});
  CHECK(m.shells[3].exponents ==
        std::vector<double>{2.9412494, 0.6834831});  // shares the numbers of the carbon p shell
  CHECK(m.shells[3].atom == 1);
  CHECK(m.shells[4].pure);
  CHECK_FALSE(m.shells[3].pure);

  LegacyDat cartesian = sample_dat();
  for (auto& [name, value] : cartesian.ints)
    if (name == "intspherical") value = 0;
  int_array(cartesian, "end_nfps").data[4] = 16;
  cartesian.segments[0].second[1] = 11;
  const Job six = legacy_job(cartesian, "x.dat");
  CHECK_FALSE(chemistry(six.data).molecule.shells[4].pure);
  CHECK(chemistry(six.data).molecule.n_basis() == 16);

  // Without owners the shells' places decide.
  LegacyDat placed = sample_dat();
  std::erase_if(placed.int_arrays, [](const auto& a) { return a.name == "atom"; });
  for (std::size_t k = 0; k < 5; ++k)
    CHECK(chemistry(legacy_job(placed, "x.dat").data).molecule.shells[k].atom == m.shells[k].atom);
  // What stands outside ccbeg to ccend does not count.
  LegacyDat outside = sample_dat();
  real_array(outside, "pcoeffs").data[3] = 7.0;
  CHECK(chemistry(legacy_job(outside, "x.dat").data).molecule.shells[0].coefficients[3] == 0.0);
  // Names in capitals are the same names.
  LegacyDat capitals = sample_dat();
  capitals.ints[0].first = "BAOCC";
  CHECK(legacy_job(capitals, "x.dat").data.ints.at("baocc") == 2);
  // Half a molecule is none, and the job says what it lacks.
  LegacyDat half = sample_dat();
  std::erase_if(half.int_arrays, [](const auto& a) { return a.name == "npfps"; });
  const Job none = legacy_job(half, "x.dat");
  CHECK_FALSE(chemistry(none.data).has_molecule);
  CHECK(chemistry(none.data).molecule.basis_name == "`x.dat` lacks npfps");
  CHECK_THAT(describe_job(none, {"."}), Contains("no molecule: `x.dat` lacks npfps"));
}

TEST_CASE("core potentials and ions in initial data") {
  LegacyDat d = sample_dat();
  int_array(d, "nelecp").data = {0, 2};
  real_array(d, "charge").data = {6.0, 6.0};
  for (auto& [name, value] : d.ints)
    if (name == "nalpha_occupied") value = 6;
    else if (name == "nbeta_occupied") value = 5;
  const Molecule m = chemistry(legacy_job(d, "x.dat").data).molecule;
  CHECK(m.atoms[1].charge == 6);
  CHECK(m.atoms[1].symbol == "O");
  CHECK(m.atoms[1].core_electrons == 2);
  CHECK(m.charge == 1);
  CHECK(m.multiplicity == 2);
  real_array(d, "charge").data = {6.0, 0.0};
  int_array(d, "nelecp").data = {0, 0};
  CHECK(chemistry(legacy_job(d, "x.dat").data).molecule.atoms[1].symbol == "Gh");
}

TEST_CASE("a basis that does not fit together names array and byte") {
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "ivangmom").data[1] = -1; }),
             Contains("`ivangmom`: element 2 is -1") && Contains("x.dat: byte"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "npfps").data[0] = 9; }),
             Contains("`npfps`") && Contains("1 to 8"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "ixalphas").data[4] = 9; }), Contains("`ixalphas`"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "ixpcoeffs").data[0] = 10; }),
             Contains("`pcoeffs`: shell 1 needs elements up to 15, it has 13"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "atom").data[0] = 3; }),
             Contains("`atom`: element 1 is 3; 1 to 2"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "atom").data[0] = 2; }),
             Contains("`tcoords`: shell 1 is not at its atom 2"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "end_nfps").data[1] = 6; }),
             Contains("`end_nfps`: shell 2 ends at function 6"));
  CHECK_THAT(error_with([](LegacyDat& d) { real_array(d, "charge").data[0] = 6.5; }), Contains("`charge`: 6.5"));
  CHECK_THAT(
      error_with([](LegacyDat& d) { real_array(d, "charge").data[0] = std::numeric_limits<double>::quiet_NaN(); }),
      Contains("`charge`"));
  CHECK_THAT(error_with([](LegacyDat& d) { real_array(d, "alphas").data[0] = -1; }), Contains("`alphas`: exponent 1"));
  CHECK_THAT(
      error_with([](LegacyDat& d) { real_array(d, "coords").data.pop_back(), real_array(d, "coords").dims = {5}; }),
      Contains("5 coordinates for 2 atoms"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "ncfps").data[0] = 0; }), Contains("`ncfps`"));
  CHECK_THAT(error_with([](LegacyDat& d) { int_array(d, "ccbeg").data[0] = 4; }), Contains("`ccbeg`"));
  CHECK_THAT(error_with([](LegacyDat& d) { d.segments[0].second = {6, 9}; }),
             Contains("inside a shell") && Contains("x.dat"));
  CHECK_THAT(error_with([](LegacyDat& d) { d.segments[0].second = {5, 9}; }), Contains("add up to 14"));
}

TEST_CASE("segments of initial data are cut anew") {
  Job job = legacy_job(sample_dat(), "x.dat");
  apply_resegment(job, "ao=4,occ=2,virt=3");
  const auto& ints = job.data.ints;
  const Sizes ao = job.data.segments.at(IndexKind::ao);
  CHECK(std::accumulate(ao.begin(), ao.end(), 0) == 15);
  CHECK(ao.size() == 4);
  CHECK(ints.at("norb") == 4);
  Sizes ends(ao.size());
  std::partial_sum(ao.begin(), ao.end(), ends.begin());
  CHECK(job.data.int_arrays.at("ao_seg_ranges").data == ends);
  CHECK(job.data.int_arrays.at("ao_seg_ranges").extents == std::vector<std::int64_t>{4});
  // Two frozen orbitals keep their segment; five active ones and eight virtual ones are cut.
  const Sizes mo{2, 2, 2, 1, 3, 3, 2};
  for (const IndexKind kind : {IndexKind::mo, IndexKind::moa, IndexKind::mob}) CHECK(job.data.segments.at(kind) == mo);
  CHECK(job.data.int_arrays.at("moa_seg_ranges").data == mo);
  CHECK(ints.at("baocc") == 2);
  CHECK(ints.at("eaocc") == 4);
  CHECK(ints.at("bavirt") == 5);
  CHECK(ints.at("eavirt") == 7);
  CHECK(ints.at("bbocc") == 2);
  CHECK(ints.at("ebvirt") == 7);
  CHECK(ints.at("bocc") == 1);
  CHECK(ints.at("eocc") == 4);
  CHECK(ints.at("bavirtorb") == 8);  // orbitals are no segments
  // Again the same, and after that other values do not undo it.
  apply_resegment(job, "occ=2");
  apply_set(job, "scf_iter=7");
  CHECK(job.data.segments.at(IndexKind::moa) == mo);
  CHECK(ints.at("scf_iter") == 7);
  // The file that is written holds all of that.
  const Job again = legacy_job(to_legacy_dat(job), "y.dat");
  CHECK(again.data.ints == job.data.ints);
  CHECK(again.data.segments == job.data.segments);
  CHECK(again.data.int_arrays.at("ao_seg_ranges").data == ends);
  // One orbital per segment, and one segment for each space.
  apply_resegment(job, "ao=1,occ=1,virt=1");
  CHECK(ints.at("norb") == 5);  // shells stay whole
  CHECK(ints.at("eavirt") == 1 + 5 + 8);
  apply_resegment(job, "ao=100,occ=100,virt=100");
  CHECK(job.data.segments.at(IndexKind::ao) == Sizes{15});
  CHECK(job.data.segments.at(IndexKind::moa) == Sizes{2, 5, 8});
  CHECK(ints.at("eaocc") == 2);
}

TEST_CASE("segments of initial data as lists") {
  Job job = legacy_job(sample_dat(), "x.dat");
  apply_segments(job, "ao=2,5,8");
  CHECK(job.data.ints.at("norb") == 3);
  apply_segments(job, "moa=2,4,1,5,3");
  CHECK(job.data.segments.at(IndexKind::mob) == Sizes{2, 4, 1, 5, 3});
  CHECK(job.data.ints.at("bavirt") == 4);
  CHECK(job.data.ints.at("ebvirt") == 5);
  CHECK(job.data.ints.at("eocc") == 3);
  Job other = legacy_job(sample_dat(), "x.dat");
  apply_segments(other, "virt=1,7");
  CHECK(other.data.segments.at(IndexKind::mo) == Sizes{2, 3, 2, 1, 7});
  Job third = legacy_job(sample_dat(), "x.dat");
  CHECK_THAT(error_of([&] { apply_segments(third, "moa=5,2,8"); }), Contains("do not end at orbital 2"));
  third = legacy_job(sample_dat(), "x.dat");
  CHECK_THAT(error_of([&] { apply_segments(third, "virt=3,3"); }), Contains("add up to 6, but there are 8"));
  third = legacy_job(sample_dat(), "x.dat");
  CHECK_THAT(error_of([&] { apply_segments(third, "ao=3,12"); }), Contains("inside a shell"));
}

TEST_CASE("cutting anew that cannot be") {
  Job job = legacy_job(sample_dat(), "x.dat");
  for (const char* text : {"", "ao", "ao=", "ao=0", "ao=-3", "ao=x", "ao=3,,occ=2", "zz=3"})
    CHECK_THAT(error_of([&] { apply_resegment(job, text); }), Contains("--resegment"));
  LegacyDat fragments = sample_dat();
  fragments.ints.emplace_back("nfrags", 2);
  Job two = legacy_job(fragments, "x.dat");
  CHECK_THAT(error_of([&] { apply_resegment(two, "ao=4"); }), Contains("2 fragments") && Contains("x.dat"));
  LegacyDat wrong = sample_dat();
  wrong.ints[1].second = 40;  // bavirt
  Job bad = legacy_job(wrong, "x.dat");
  CHECK_THAT(error_of([&] { apply_resegment(bad, "virt=4"); }), Contains("`bavirt` is 40, and there are 4 segments"));
}

TEST_CASE("open shells in initial data are cut per spin") {
  LegacyDat d = sample_dat();
  for (auto& [name, value] : d.ints) {
    if (name == "nalpha_occupied") value = 8;
    if (name == "nbeta_occupied") value = 6;
  }
  d.segments[2].second = {2, 3, 3, 7};
  d.segments[3].second = {2, 3, 1, 9};
  Job job = legacy_job(d, "x.dat");
  CHECK(chemistry(job.data).molecule.multiplicity == 3);
  apply_resegment(job, "occ=2,virt=5");
  CHECK(job.data.segments.at(IndexKind::moa) == Sizes{2, 2, 2, 2, 4, 3});
  CHECK(job.data.segments.at(IndexKind::mob) == Sizes{2, 2, 2, 5, 4});
  CHECK(job.data.ints.at("eaocc") == 4);
  CHECK(job.data.ints.at("ebocc") == 3);
  CHECK(job.data.ints.at("bbvirt") == 4);
  apply_resegment(job, "beta_occ=4");
  CHECK(job.data.segments.at(IndexKind::mob) == Sizes{2, 4, 5, 4});
}

TEST_CASE("a job file's molecule as initial data and back") {
  Folder f;
  f.write("p.sialx", "sial p\nendsial p\n");
  f.write("lih.xyz", "2\n\nLi 0 0 0\nH 0 0 1.6\n");
  const Job job = read_job_file(f.write(
      "job.toml",
      "programs = [\"p.sialx\"]\n[molecule]\nxyz = \"lih.xyz\"\nbasis = \"cc-pvdz\"\n[segments]\nao = \"auto\"\nao_target = 6\n[arrays]\nw = [1.5, 2.5]\n"));
  const LegacyDat dat = to_legacy_dat(job);
  CHECK(dat.programs == std::vector<std::string>{"p.siox"});
  const Job back = legacy_job(parse_legacy_dat(format_legacy_dat(dat), "x.dat"), "x.dat");
  REQUIRE(chemistry(back.data).has_molecule);
  const Molecule &a = chemistry(job.data).molecule, &b = chemistry(back.data).molecule;
  CHECK(a.charge == b.charge);
  CHECK(a.multiplicity == b.multiplicity);
  REQUIRE(a.atoms.size() == b.atoms.size());
  for (std::size_t i = 0; i < a.atoms.size(); ++i) {
    CHECK(a.atoms[i].charge == b.atoms[i].charge);
    CHECK(a.atoms[i].symbol == b.atoms[i].symbol);
    CHECK(a.atoms[i].position == b.atoms[i].position);
  }
  REQUIRE(a.shells.size() == b.shells.size());
  for (std::size_t i = 0; i < a.shells.size(); ++i) {
    CHECK(a.shells[i].atom == b.shells[i].atom);
    CHECK(a.shells[i].l == b.shells[i].l);
    CHECK(a.shells[i].pure == b.shells[i].pure);
    CHECK(a.shells[i].exponents == b.shells[i].exponents);
    CHECK(a.shells[i].coefficients == b.shells[i].coefficients);
  }
  CHECK(back.data.segments == job.data.segments);
  for (const auto& [name, value] : job.data.ints) CHECK(back.data.ints.at(name) == value);
  for (const auto& [name, value] : job.data.scalars) CHECK(back.data.scalars.at(name) == value);
  CHECK(back.data.arrays.at("w").data == std::vector<double>{1.5, 2.5});
  CHECK(back.data.arrays.at("coords").extents == std::vector<std::int64_t>{3, 2});
  // Norm of an s primitive: (2 a / pi)^(3/4).
  CHECK(back.data.arrays.at("alpha_norms").data[0] ==
        Approx(std::pow(2 * a.shells[0].exponents[0] / 3.14159265358979324, 0.75)));
  const Sizes& ao = job.data.segments.at(IndexKind::ao);
  CHECK(back.data.int_arrays.at("ao_seg_ranges").data.back() == std::accumulate(ao.begin(), ao.end(), 0));
  CHECK(back.data.int_arrays.at("moa_seg_ranges").data == job.data.segments.at(IndexKind::moa));

  Job cut = job;
  apply_resegment(cut, "ao=100,virt=3");
  CHECK(cut.data.ints.at("norb") == 1);
  CHECK(cut.data.segments.at(IndexKind::moa)[1] <= 3);
}

TEST_CASE("programs are found by base name, the newer of source and module") {
  namespace fs = std::filesystem;
  Folder f;
  fs::create_directories(f.path("one"));
  fs::create_directories(f.path("two"));
  f.write("one/a.siox", "");
  f.write("one/b.siox", "");
  f.write("one/b.sialx", "");
  f.write("two/c.sialx", "");
  f.write("two/a.sialx", "");
  const auto now = fs::last_write_time(f.path("one/b.siox"));
  fs::last_write_time(f.path("one/b.sialx"), now + std::chrono::seconds(5));
  const std::vector<std::string> folders{f.path("one"), f.path("two")};
  CHECK(find_programs({"a.siox", "b.siox", "/some/where/c.siox"}, folders) ==
        std::vector<std::string>{f.path("one/a.siox"), f.path("one/b.sialx"), f.path("two/c.sialx")});
  fs::last_write_time(f.path("one/b.sialx"), now - std::chrono::seconds(5));
  CHECK(find_program("b", folders) == std::vector<std::string>{f.path("one/b.siox")});
  fs::create_symlink("../two/c.sialx", f.path("one/e.sialx"));
  CHECK(find_program("e.siox", folders) == std::vector<std::string>{fs::canonical(f.path("two/c.sialx")).string()});
  // One old program in the place of several new ones.
  f.write("one/g.programs", "# first\n../two/c.sialx\n  b.siox  # then\n\n");
  CHECK(find_programs({"g.siox", "a.siox"}, folders) ==
        std::vector<std::string>{f.path("one/../two/c.sialx"), f.path("one/b.siox"), f.path("one/a.siox")});
  f.write("one/g.programs", "x.sialx\n");
  CHECK_THAT(error_of([&] { find_program("g", folders); }), Contains("x.sialx") && Contains("g.programs:1"));
  f.write("one/g.programs", "#\n");
  CHECK_THAT(error_of([&] { find_program("g", folders); }), Contains("names no program"));
  for (const std::string& odd : {std::string(".."), std::string("/"), std::string(), std::string("a\0.siox", 7),
                                 std::string("a\n.siox"), std::string(5000, 'x')})
    CHECK_THAT(error_of([&] { find_programs({odd}, folders); }), Contains("is no name of a program"));
  CHECK_THAT(error_of([&] { find_programs({"a.siox", "d.siox"}, folders); }),
             Contains("no program d.siox") && Contains(f.path("two")) && Contains("--programs"));
}

TEST_CASE("a job is described") {
  const Job job = legacy_job(sample_dat(), "x.dat");
  const std::string text = describe_job(job, {"nowhere"});
  CHECK_THAT(text, Contains("2 atoms, charge 0, multiplicity 1") && Contains("5 shells, 15 functions, spherical") &&
                       Contains("ao     15 elements in 2: 5 10") && Contains("scf_rhf_coreh.siox (not in nowhere)") &&
                       Contains("lindep_tol = 8") && Contains("coords(3,2)") && Contains("ignore_dropmo = t"));
}
