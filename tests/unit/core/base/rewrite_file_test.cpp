#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "runtime/core/base/output_file.h"
#include "runtime/core/base/rewrite_file.h"
#include "tests/unit/program/job/files.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

struct stat status_of(const std::string& path) {
  struct stat s{};
  REQUIRE(lstat(path.c_str(), &s) == 0);
  return s;
}

auto files_in(const Folder& f) { return std::distance(fs::directory_iterator(f.path("")), {}); }

}  // namespace

TEST_CASE("a file that is rewritten keeps its links") {
  const Folder f;
  const std::string file = f.write("file", "earlier");
  fs::create_symlink("file", f.path("link"));
  fs::create_symlink("link", f.path("link to it"));
  rewrite_file(f.path("link to it"), "with one name");
  CHECK(content_of(file) == "with one name");
  fs::create_hard_link(file, f.path("other name"));
  for (const char* text : {"longer than it was before", "short", ""}) {
    rewrite_file(f.path("link to it"), text);
    CHECK(content_of(file) == text);
    CHECK(content_of(f.path("other name")) == text);
  }
  CHECK(fs::is_symlink(f.path("link")));
  CHECK(fs::is_symlink(f.path("link to it")));
  CHECK(fs::equivalent(file, f.path("other name")));
  CHECK(files_in(f) == 4);
  rewrite_file(f.path("new"), "not there before");
  CHECK(content_of(f.path("new")) == "not there before");
}

TEST_CASE("a file that is rewritten keeps its owner and its rights") {
  const Folder f;
  const std::string file = f.write("file", "earlier");
  for (const mode_t mode : {0640, 0777, 02755, 0600}) {
    REQUIRE(chmod(file.c_str(), mode) == 0);
    rewrite_file(file, "later");
    CHECK((status_of(file).st_mode & 0777) == (mode & 0777));
  }
  if (geteuid() == 0) {
    REQUIRE(chown(file.c_str(), 4711, 4712) == 0);
    rewrite_file(file, "by another user");
    CHECK(status_of(file).st_uid == 4711);
    CHECK(status_of(file).st_gid == 4712);
    CHECK((status_of(file).st_mode & 0777) == 0600);
  }
  if (setxattr(file.c_str(), "user.note", "mine", 4, 0) == 0) {
    rewrite_file(file, "with an attribute");
    char value[8] = {};
    CHECK(getxattr(file.c_str(), "user.note", value, sizeof value) == 4);
  }
}

TEST_CASE("a file that cannot be rewritten holds what it held") {
  const Folder f;
  const std::string file = f.write("file", "earlier");
  for (const bool linked : {false, true}) {
    if (linked) fs::create_hard_link(file, f.path("other name"));
    // The copy of it does not fit, the text does not fit.
    for (const rlim_t bytes : {rlim_t{3}, rlim_t{9}}) {
      const LargestFile largest(bytes);
      CHECK_THAT(error_of([&] { rewrite_file(file, "a text that is too long"); }),
                 Contains("cannot write") && Contains("File too large"));
    }
    CHECK(content_of(file) == "earlier");
    CHECK(files_in(f) == (linked ? 2 : 1));
  }
  CHECK_THAT(error_of([&] { rewrite_file(f.path(""), "x"); }), Contains("cannot write"));
}

TEST_CASE("a write that fails half way is taken back, or says that it is not") {
  const Folder f;
  for (const char* after : {"tiny", "longer than the text before"})
    for (int works = 0; works < 2; ++works) {
      const std::string path = f.write("file", "the text before");
      const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
      int calls = 0;
      const Rewritten done =
          rewrite_in_place(file.get(), "the text before", after,
                           [&](int descriptor, std::int64_t offset, std::span<const std::byte> content) {
                             const bool whole = calls++ > 0 && works == 1;
                             const int error = write_at(descriptor, offset, whole ? content : content.subspan(0, 2));
                             return error != 0 ? error : whole ? 0 : ENOSPC;
                           });
      CHECK(done.error == ENOSPC);
      CHECK(done.restored == (works == 1));
      if (works == 1) CHECK(content_of(path) == "the text before");
    }
}
