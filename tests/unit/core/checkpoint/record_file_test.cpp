// Files of records: what is written is read; what was changed in any way is refused.

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <random>

#include "runtime/core/checkpoint/record_file.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;

namespace {

FileSeal write_sample(const std::string& path, double first = 0.5) {
  RecordWriter writer(path);
  Packer head;
  head.text("label/1");
  head.value(std::int32_t{-7});
  head.values(std::vector<double>{first, 2.5});
  head.map(std::map<std::string, double>{{"x", 1.0}, {"", -0.0}});
  writer.record(3, head);
  std::vector<double> block(100000);
  std::iota(block.begin(), block.end(), first);
  writer.record(7, Packer(), block);
  writer.record(8, Packer(), {});
  return writer.finish();
}

/// Reads everything; the message when that fails.
std::string problem(const std::string& path, const FileSeal& seal) {
  return error_of([&] {
    RecordReader reader(path, seal);
    while (reader.next() != RecordReader::end) {}
  });
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("records are read as they were written") {
  Folder folder;
  const std::string path = folder.path("1.rank0");
  const FileSeal seal = write_sample(path);
  RecordReader reader(path, seal);
  REQUIRE(reader.next() == 3);
  Unpacker u(reader.head());
  CHECK(u.text() == "label/1");
  CHECK(u.value<std::int32_t>() == -7);
  CHECK(u.values<double>() == std::vector<double>{0.5, 2.5});
  CHECK(u.map<double>() == std::map<std::string, double>{{"x", 1.0}, {"", 0.0}});
  CHECK(u.empty());
  CHECK_THROWS_AS(u.value<char>(), SialError);
  REQUIRE(reader.next() == 7);
  CHECK(reader.head().empty());
  REQUIRE(reader.data().size() == 100000);
  CHECK(reader.data().back() == 99999.5);
  REQUIRE(reader.next() == 8);
  CHECK(reader.data().empty());
  CHECK(reader.next() == RecordReader::end);
}

TEST_CASE("a file that is not what was written is refused and named") {
  Folder folder;
  const std::string path = folder.path("1.rank0");
  const FileSeal seal = write_sample(path);
  const std::string whole = bytes_of(path);
  REQUIRE(whole.size() == seal.bytes);
  CHECK(problem(path, seal).empty());

  folder.write("1.rank0", whole.substr(0, whole.size() - 8));
  CHECK(problem(path, seal).find(path + "` has") != std::string::npos);
  CHECK_THROWS_AS(RecordWriter(path), EnvironmentError);  // what is there stays
  std::filesystem::remove(path);
  write_sample(path, 1.5);  // whole, but another one
  CHECK(problem(path, seal).find("of another checkpoint") != std::string::npos);

  std::mt19937 random(1);
  for (int n = 0; n < 300; ++n) {
    std::string changed = whole;
    const std::size_t at = n < 200 ? random() % 300 : random() % whole.size();
    changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1u << random() % 8));
    folder.write("1.rank0", changed);
    INFO("byte " << at);
    CHECK(problem(path, seal).find(path) != std::string::npos);
  }
  // Damage that agrees with the number of bytes expected.
  for (std::size_t keep : {std::size_t{0}, std::size_t{10}, std::size_t{40}, whole.size() / 2}) {
    folder.write("1.rank0", whole.substr(0, keep));
    FileSeal shorter = seal;
    shorter.bytes = keep;
    CHECK(!problem(path, shorter).empty());
  }
}

TEST_CASE("a writer that does not finish leaves nothing") {
  Folder folder;
  const std::string path = folder.path("1.rank0");
  { RecordWriter writer(path); }
  CHECK(!std::filesystem::exists(path));
  CHECK_THROWS_AS(RecordWriter(folder.path("none/1.rank0")), EnvironmentError);
}

TEST_CASE("packed data that promise more than there is are refused") {
  Packer p;
  p.value(std::uint64_t{1} << 61);
  Unpacker u(p.bytes());
  CHECK_THROWS_AS(u.values<double>(), SialError);
  Unpacker v(p.bytes());
  CHECK_THROWS_AS(v.text(), SialError);
  Unpacker w(p.bytes());
  CHECK_THROWS_AS(w.map<double>(), SialError);
}

TEST_CASE("a pipe is no checkpoint") {
  Folder folder;
  REQUIRE(::mkfifo(folder.path("1.rank0").c_str(), 0600) == 0);
  CHECK(error_of([&] { RecordReader(folder.path("1.rank0"), {}); }).find("is no regular file") != std::string::npos);
}
