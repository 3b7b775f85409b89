#include "runtime/core/base/rewrite_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/output_file.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr const char* usual_hint = "is the disk full, or the folder read-only?";

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw EnvironmentError(fmt::format("cannot write `{}`: {}", path, std::strerror(error)), usual_hint);
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Access lists and what else a new file would not have. The label of SELinux follows from the folder.
bool has_attributes(int file) {
  std::array<char, 4096> names{};
  const ssize_t size = ::flistxattr(file, names.data(), names.size());
  if (size < 0) return errno == ERANGE;
  for (std::string_view rest(names.data(), static_cast<std::size_t>(size)); !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (name != "security.selinux") return true;
    rest.remove_prefix(name.size() + 1);
  }
  return false;
}

/// Puts a new file in the place of the earlier one. False, and nothing has changed: it would belong to somebody else.
bool replaced(const std::string& path, const struct stat& earlier, std::string_view content) {
  PartFile part(path, usual_hint);
  struct stat own{};
  if (::fstat(part.descriptor(), &own) != 0) cannot_write(path, errno);
  if ((own.st_uid != earlier.st_uid || own.st_gid != earlier.st_gid) &&
      ::fchown(part.descriptor(), earlier.st_uid, earlier.st_gid) != 0)
    return false;
  if (const int error = write_at(part.descriptor(), 0, bytes_of(content)); error != 0) cannot_write(path, error);
  part.finish(Durability::on_disk);
  return true;
}

/// A copy of a file's content, in a file beside it, or in the folder for temporary files where its own takes none.
class Copy {
 public:
  Copy(const std::string& path, std::string_view content) {
    std::error_code failure;
    const fs::path temporary = fs::temp_directory_path(failure);
    for (const fs::path& place : {fs::path(path), temporary / fs::path(path).filename()}) {
      name_ = place.string() + ".before-XXXXXX";
      file_ = Descriptor(::mkostemp(name_.data(), O_CLOEXEC));
      if (file_.get() >= 0) break;
    }
    if (file_.get() < 0) cannot_write(path, errno);
    int error = write_at(file_.get(), 0, bytes_of(content));
    if (error == 0 && ::fsync(file_.get()) != 0) error = errno;
    if (error == 0) return;
    ::unlink(name_.c_str());
    cannot_write(path, error);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    if (!complete_) ::unlink(name_.c_str());
  }
  const std::string& keep() {
    complete_ = true;
    return name_;
  }

 private:
  std::string name_;
  Descriptor file_;
  bool complete_ = false;
};

}  // namespace

Rewritten rewrite_in_place(int file, std::string_view before, std::string_view after, const WriteAt& write) {
  // A text that does not fit is found before the first byte is replaced.
  if (after.size() > before.size()) {
    const int error = ::posix_fallocate(file, 0, static_cast<off_t>(after.size()));
    if (error != 0 && error != EINVAL && error != EOPNOTSUPP)
      return {error, ::ftruncate(file, static_cast<off_t>(before.size())) == 0};
  }
  const auto put = [&](std::string_view text) {
    int error = write(file, 0, bytes_of(text));
    if (error == 0 && ::ftruncate(file, static_cast<off_t>(text.size())) != 0) error = errno;
    if (error == 0 && ::fsync(file) != 0 && errno != EINVAL) error = errno;
    return error;
  };
  const int error = put(after);
  return {error, error == 0 || put(before) == 0};
}

void rewrite_file(const std::string& path, std::string_view content) {
  const std::string end = link_end(path);
  struct stat earlier{};
  if (names_open_file(path) || ::lstat(end.c_str(), &earlier) != 0 || !S_ISREG(earlier.st_mode))
    return write_file(path, content);
  const Descriptor file(::open(end.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0 || ::fstat(file.get(), &earlier) != 0) cannot_write(path, errno);
  const bool replaceable = earlier.st_nlink == 1 && (earlier.st_mode & 07000) == 0 && !has_attributes(file.get());
  if (replaceable && !written_in_place(path) && replaced(path, earlier, content)) return;

  std::string before(static_cast<std::size_t>(earlier.st_size), '\0');
  if (!read_at(file.get(), 0, std::as_writable_bytes(std::span(before)))) cannot_write(path, errno);
  Copy copy(end, before);
  const Rewritten done = rewrite_in_place(file.get(), before, content, write_at);
  if (done.error == 0) return;
  if (done.restored) cannot_write(path, done.error);
  throw EnvironmentError(fmt::format("cannot write `{}`: {}; it is incomplete now", path, std::strerror(done.error)),
                         fmt::format("what it held before is in `{}`", copy.keep()));
}

}  // namespace sial
