// The index of a checkpoint: written and read, damaged, compared with another job, and the files it does not name
// removed.

#include <catch2/catch.hpp>

#include <any>
#include <map>
#include <random>
#include <set>

#include "runtime/core/checkpoint/index.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;

namespace {

using Known = std::map<std::string, std::string>;

JobData sample_data() {
  JobData data;
  data.ints = {{"norb", 2}};
  data.scalars = {{"conv", 1e-8}};
  data.segments[IndexKind::ao] = {3, 2};
  data.arrays["h"] = {{2}, {1.0, 2.0}};
  data.int_arrays["n"] = {{2}, {1, 2}};
  data.domain = Known{{"geometry", "1"}, {"basis set", "sto-3g"}};
  return data;
}

std::vector<std::shared_ptr<const Module>> sample_programs(const std::string& file = "a/p.sialx",
                                                           std::int32_t literal = 1) {
  Module m;
  m.program = "p";
  m.files = {file};
  m.code = {{Opcode::halt, literal, 0, 0, 0}};
  m.places = {{0, 1, 1}};
  m.remarks.emplace_back().text = "the loop in " + file + ":1";
  return {std::make_shared<const Module>(m)};
}

JobIdentity sample(const JobData& data = sample_data(), const std::string& path = "a/p.sialx") {
  const std::vector<std::string> paths{path};
  JobIdentity identity = identity_of(data, paths, sample_programs(path));
  identity.domain = std::any_cast<Known>(data.domain);
  return identity;
}

CheckpointIndex sample_index() {
  CheckpointIndex index;
  index.version = "1";
  index.job_id = "_2026Jan01_000000";
  index.written = "2026-01-01 00:00:00";
  index.serial = 12;
  index.program = 1;
  index.inside = true;
  index.uniform = false;
  index.place = "at p.sialx:3:1";
  index.seconds = 0.25;
  index.files = {{"12.rank0", {100, 0xfedcba9876543210u}}, {"12.rank1", {200, 7}}};
  index.job = sample();
  return index;
}

}  // namespace

TEST_CASE("an index is read as it was written") {
  Folder folder;
  write_checkpoint_index(sample_index(), folder.path("."));
  const std::string text = read_checkpoint_index(folder.path("."));
  CHECK(text == read_checkpoint_index(folder.path("index.json")));
  const CheckpointIndex back = checkpoint_index_from(text, "index.json");
  CHECK(to_text(back) == to_text(sample_index()));
  CHECK(back.files[0].seal.hash == 0xfedcba9876543210u);
  CHECK(back.inside);
  CHECK(!back.uniform);
  CHECK(back.program == 1);
  CHECK(difference(back.job, sample()).empty());
  CHECK(!std::filesystem::exists(folder.path("index.json.part")));
  CHECK_THROWS_AS(read_checkpoint_index(folder.path("nowhere")), InputError);
  CHECK_THROWS_AS(write_checkpoint_index(sample_index(), folder.path("nowhere")), EnvironmentError);
}

TEST_CASE("a damaged index is refused") {
  const std::string text = to_text(sample_index());
  std::mt19937 random(3);
  for (int n = 0; n < 500; ++n) {
    std::string changed = text;
    if (n < 100) {
      changed.resize(random() % (text.size() - 2));
    } else {
      const std::size_t at = random() % text.size();
      changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1u << random() % 8));
    }
    const std::string problem = error_of([&] {
      // Blanks between the values may change without harm.
      if (to_text(checkpoint_index_from(changed, "f/index.json")) == text) throw SialError("f/index.json");
    });
    INFO(changed);
    CHECK(problem.find("f/index.json") != std::string::npos);
  }
  std::string other = text;
  other.replace(other.find("\"format\": 5"), 11, "\"format\": 9");
  CHECK(error_of([&] { checkpoint_index_from(other, "f"); }).find("has format 9, and this sialrun reads format 5") !=
        std::string::npos);
}

TEST_CASE("what differs between two jobs is named") {
  const JobIdentity job = sample();
  CHECK(difference(job, sample(sample_data(), "other/folder/p.sialx")).empty());
  JobData data = sample_data();
  data.ints["norb"] = 3;
  CHECK(difference(job, sample(data)) == "the value of int `norb` was 2 and is 3 now");
  data = sample_data();
  data.scalars["conv"] = 1e-9;
  CHECK(difference(job, sample(data)) == "the value of scalar `conv` was 1e-08 and is 1e-09 now");
  data = sample_data();
  data.scalars.erase("conv");
  CHECK(difference(job, sample(data)) == "the value of scalar `conv` was 1e-08 and is not given now");
  data = sample_data();
  data.segments[IndexKind::ao] = {2, 3};
  CHECK(difference(job, sample(data)) == "the segments of kind `ao` was 3,2 and is 2,3 now");
  data = sample_data();
  data.arrays["h"].data[1] = 2.5;
  CHECK(difference(job, sample(data)) == "the data of array `h` is not the same");
  data = sample_data();
  data.int_arrays["n"].data[1] = 3;
  CHECK(difference(job, sample(data)) == "the data of array `n (integers)` is not the same");
  data = sample_data();
  std::any_cast<Known&>(data.domain)["geometry"] = "2";
  CHECK(difference(job, sample(data)) == "the molecule's `geometry` is not the same");
  data = sample_data();
  std::any_cast<Known&>(data.domain)["basis set"] = "6-31g";
  CHECK(difference(job, sample(data)) == "the molecule's `basis set` is not the same");

  const std::vector<std::string> paths{"a/p.sialx"};
  CHECK(difference(job, identity_of(sample_data(), paths, sample_programs("a/p.sialx", 2))) ==
        "the program `p.sialx` has changed, or is compiled in another way");
  CHECK(difference(job, identity_of(sample_data(), {}, {})) == "program 1 of the job, `p.sialx`, is missing");
  CHECK(difference(identity_of(sample_data(), {}, {}), job) == "program 1, `p.sialx`, was not part of the job");
  const std::vector<std::string> compiled{"p.siox"};
  JobIdentity same = identity_of(sample_data(), compiled, sample_programs());
  same.domain = job.domain;
  CHECK(difference(job, same).empty());
}

TEST_CASE("old files go, all others stay") {
  Folder folder;
  for (const char* name : {"11.rank0", "11.rank1", "12.rank0", "12.rank1", "13.rank0"})
    RecordWriter(folder.path(name)).finish();
  folder.write("13.rank1", "");  // its job was killed
  const std::set<std::string> others{"notes.txt",   "x.rank0",  ".rank1", "2024.ranking.txt",
                                     "7.rank0.bak", "7.rank-1", "9.rank0"};
  for (const std::string& name : others) folder.write(name, "x");
  std::filesystem::create_symlink("12.rank0", folder.path("10.rank0"));
  CHECK(next_serial(folder.path(".")) == 14);
  CHECK(next_serial(folder.path("none")) == 1);
  const CheckpointIndex index = sample_index();
  CheckpointIndex before = sample_index();
  before.serial = 11;
  before.files = {{"11.rank0", {100, 7}}};
  write_checkpoint_index(index, folder.path("."));
  CHECK(!read_previous_index(folder.path(".")));
  write_checkpoint_index(before, folder.path("."), previous_index_name);
  REQUIRE(read_previous_index(folder.path(".")));
  CHECK(read_previous_index(folder.path("."))->serial == 11);
  const CheckpointIndex* const both[] = {&index, &before};
  remove_old_files(folder.path("."), both);
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path(".")))
      found.insert(entry.path().filename().string());
    return found;
  };
  std::set<std::string> expected = others;
  expected.insert({"10.rank0", "11.rank0", "12.rank0", "12.rank1", "index.json", "previous.json"});
  CHECK(names() == expected);
  remove_old_files(folder.path("."), {both, 1});
  expected.erase("11.rank0");
  expected.erase("previous.json");
  CHECK(names() == expected);
  folder.write("previous.json", "somebody's");
  remove_old_files(folder.path("."), {});
  CHECK(names().contains("previous.json"));
  std::filesystem::remove(folder.path("previous.json"));
  expected = others;
  expected.insert("10.rank0");  // a link
  CHECK(names() == expected);
}

TEST_CASE("an index whose hash is right is read with care") {
  const auto problem = [](auto change) {
    CheckpointIndex index = sample_index();
    change(index);
    return error_of([&] { checkpoint_index_from(to_text(index), "f/index.json"); });
  };
  CHECK(problem([](CheckpointIndex&) {}).empty());
  for (const char* name : {"../12.rank0", "/etc/passwd", "12.rank1", "11.rank0", "", "12.rank0/"})
    CHECK(problem([&](CheckpointIndex& index) { index.files[0].name = name; }).find("f/index.json") !=
          std::string::npos);
  CHECK(problem([](CheckpointIndex& index) { index.serial = -1; }).find("damaged") != std::string::npos);
  CHECK(problem([](CheckpointIndex& index) { index.program = -1; }).find("damaged") != std::string::npos);
}
