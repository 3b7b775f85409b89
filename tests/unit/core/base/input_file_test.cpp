#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/base/input_file.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;

TEST_CASE("only regular files within their limit are read") {
  Folder f;
  std::string problem;
  CHECK(read_file(f.write("a", "some text"), 9, problem) == "some text");
  CHECK(problem.empty());
  CHECK(read_problem(f.path("a"), 9).empty());
  CHECK(read_file(f.path("a"), 8, problem).empty());
  CHECK(problem == "it has 9 bytes, and such a file may have 8 bytes");
  CHECK(read_problem(f.path("a"), 8) == problem);
  CHECK(read_file(f.write("empty", ""), 9, problem).empty());
  CHECK(problem.empty());
  read_file(f.path("none"), 9, problem);
  CHECK(problem == "No such file or directory");
  read_file(f.path(""), 9, problem);
  CHECK(problem == "it is a folder");
  read_file("/dev/zero", 9, problem);
  CHECK_THAT(problem, Contains("it is a device"));
  REQUIRE(::mkfifo(f.path("pipe").c_str(), 0600) == 0);
  read_file(f.path("pipe"), 9, problem);
  CHECK_THAT(problem, Contains("it is a pipe"));
  REQUIRE(::symlink("a", f.path("link").c_str()) == 0);
  CHECK(read_file(f.path("link"), 9, problem) == "some text");
  // It claims to have no bytes, and has some.
  CHECK_FALSE(read_file("/proc/self/status", 1 << 20, problem).empty());
  // A hole takes no space on the disk, and is not read.
  REQUIRE(::truncate(f.path("a").c_str(), off_t{1} << 40) == 0);
  read_file(f.path("a"), std::int64_t{64} << 20, problem);
  CHECK(problem == "it has 1024 GiB, and such a file may have 64 MiB");
}
