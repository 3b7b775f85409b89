#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "runtime/core/base/output_file.h"
#include "runtime/core/job/results.h"
#include "tests/unit/program/job/files.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

/// HDF5 loses a buffer of its own when a flush fails.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}  // NOLINT(bugprone-reserved-identifier): the sanitizer's name

namespace {

void write_results(const std::string& path, double x) {
  ResultsWriter w(path, 10);
  w.program({"p", "", {}, {}});
  w.static_array("h", {{40, 40}, std::vector<double>(1600, x)});
  w.saved_static("c", {{40, 40}, std::vector<double>(1600, x)});
  const SavedLayout layout{"t", {1, 1}, {{40, 40}, {40}}};
  w.begin_saved("t", layout);
  BlockIndex b;
  b.rank = 2;
  b.segment[1] = 1;
  for (b.segment[0] = 1; b.segment[0] <= 2; ++b.segment[0]) w.saved_block(b, std::vector<double>(1600, x));
  w.end_saved();
  w.finish();
}

}  // namespace

TEST_CASE("one file by several names, there or not") {
  Folder f;
  f.write("a", "a");
  f.write("b", "a");
  fs::create_directory(f.path("d"));
  fs::create_symlink("a", f.path("link"));
  fs::create_symlink("new", f.path("dangling"));
  fs::create_hard_link(f.path("a"), f.path("hard"));
  for (const char* name : {"a", "./a", "d/../a", "link", "hard"}) CHECK(same_file(f.path("a"), f.path(name)));
  for (const char* name : {"b", "dangling", "new", "d"}) CHECK_FALSE(same_file(f.path("a"), f.path(name)));
  CHECK(same_file(f.path("new"), f.path("dangling")));
  CHECK(same_file(f.path("new"), f.path("d/../new")));
  CHECK_FALSE(same_file("/dev/null", "/dev/null"));  // what is no file is not replaced
  CHECK(link_end(f.path("dangling")) == f.path("new"));
  CHECK(special_kind(f.path("d")) == "a folder");
  CHECK(special_kind("/dev/null") == "a device");
  CHECK(special_kind(f.path("link")).empty());
}

TEST_CASE("a file is replaced whole or not at all") {
  Folder f;
  const std::string a = f.write("a", "earlier");
  fs::create_symlink("a", f.path("link"));
  CHECK(chmod(a.c_str(), 0640) == 0);
  write_file(f.path("link"), "later", Durability::on_disk);
  CHECK(content_of(a) == "later");
  CHECK(fs::is_symlink(f.path("link")));
  CHECK(fs::status(a).permissions() == fs::perms(0640));
  {
    const LargestFile largest(3);
    CHECK_THAT(error_of([&] { write_file(a, "too much"); }), Contains("cannot write") && Contains("File too large"));
    CHECK_THAT(error_of([&] { write_file(f.path("n"), "too much"); }), Contains("File too large"));
  }
  CHECK(content_of(a) == "later");
  CHECK(std::distance(fs::directory_iterator(f.path("")), {}) == 2);
}

TEST_CASE("what is open is written into where it stands") {
  Folder f;
  for (const bool append : {false, true}) {
    const std::string log = f.write("log", "earlier\n");
    const int file = open(log.c_str(), O_WRONLY | O_CLOEXEC | (append ? O_APPEND : 0));
    REQUIRE(file >= 0);
    CHECK(lseek(file, 0, SEEK_END) == 8);
    for (const std::string& name : {fmt::format("/dev/fd/{}", file), fmt::format("/proc/self/fd/{}", file),
                                    fmt::format("/proc/{}/fd/{}", getpid(), file)})
      write_file(name, "x\n");
    fs::create_symlink(fmt::format("/dev/fd/{}", file), f.path("link"));
    write_file(f.path("link"), "y\n");
    CHECK(write(file, "later\n", 6) == 6);
    CHECK(close(file) == 0);
    CHECK(content_of(log) == "earlier\nx\nx\nx\ny\nlater\n");
    CHECK_THAT(error_of([&] { write_file(f.path("link"), "z"); }), Contains("cannot write"));  // closed by now
    fs::remove(f.path("link"));
  }
}

TEST_CASE("results that cannot be written leave the earlier file, and HDF5 fit for the next") {
  Folder f;
  const std::string path = f.path("r.h5");
  write_results(path, 1.0);
  const std::string earlier = content_of(path);
  for (std::size_t bytes = 0; bytes < earlier.size(); bytes += 997) {
    {
      const LargestFile largest(bytes);
      CHECK_THAT(error_of([&] { write_results(path, 2.0); }), Contains("cannot write") && Contains("r.h5"));
    }
    CHECK(content_of(path) == earlier);
    CHECK(std::distance(fs::directory_iterator(f.path("")), {}) == 1);
    write_results(f.path("other.h5"), 3.0);
    CHECK(ResultsReader(f.path("other.h5")).saved_statics().at("c").data == std::vector<double>(1600, 3.0));
    fs::remove(f.path("other.h5"));
  }
}
