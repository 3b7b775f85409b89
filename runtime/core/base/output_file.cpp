#include "runtime/core/base/output_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/error.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr int max_links = 40;  // as the kernel follows

/// Reports a failed call: errno, saved from what cleaning up does to it.
[[noreturn]] void cannot_write(const std::string& path, int error, const std::string& hint) {
  throw EnvironmentError(fmt::format("cannot write `{}`: {}", path, std::strerror(error)), hint);
}

/// The name below /proc or /dev/fd, where a path such as /dev/stdout names an open file.
std::optional<std::string> name_of_open_file(const std::string& path) {
  fs::path at = path;
  std::error_code failure;
  for (int i = 0; i < max_links; ++i) {
    const std::string text = at.lexically_normal().string();
    if (text.starts_with("/proc/") || text.starts_with("/dev/fd/")) return text;
    const fs::path target = fs::read_symlink(at, failure);
    if (failure) return std::nullopt;
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return std::nullopt;
}

/// An open file is written in place, even when it is a regular one: others hold it by that name. Negative:
/// errno is set.
int open_again(const std::string& name) {
  std::fflush(nullptr);  // what was written there before comes before
  for (const std::string& folder :
       {std::string("/dev/fd/"), std::string("/proc/self/fd/"), fmt::format("/proc/{}/fd/", ::getpid())}) {
    if (!name.starts_with(folder)) continue;
    int descriptor = -1;
    const char* const last = name.data() + name.size();
    if (const auto [end, error] = std::from_chars(name.data() + folder.size(), last, descriptor);
        error == std::errc() && end == last && descriptor >= 0)
      return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  }
  return ::open(name.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

/// Calls write(what is left) until nothing is. 0 or the error.
template <class Write>
int write_pieces(std::span<const std::byte> content, Write write) {
  while (!content.empty()) {
    const ssize_t n = write(content);
    if (n > 0) content = content.subspan(static_cast<std::size_t>(n));
    else if (n == 0) return ENOSPC;
    else if (errno != EINTR) return errno;
  }
  return 0;
}

/// 0 or the error.
int write_all(int file, std::string_view content) {
  return write_pieces(std::as_bytes(std::span(content)),
                      [&](std::span<const std::byte> rest) { return ::write(file, rest.data(), rest.size()); });
}

/// 0 or the error. Closes the file in any case.
int complete(Descriptor& file, Durability durability) {
  int error = 0;
  if (durability == Durability::on_disk && ::fsync(file.get()) != 0 && errno != EINVAL) error = errno;
  if (::close(file.release()) != 0 && error == 0) error = errno;
  return error;
}

/// A link that somebody put where everybody may: the rule of Linux's protected_symlinks, on every system.
bool foreign_link(const fs::path& link) {
  struct stat of_link{}, of_folder{};
  const fs::path folder = link.has_parent_path() ? link.parent_path() : ".";
  if (::lstat(link.c_str(), &of_link) != 0 || ::stat(folder.c_str(), &of_folder) != 0) return false;
  return (of_folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) && of_link.st_uid != ::geteuid() &&
         of_link.st_uid != of_folder.st_uid;
}

/// A new file in an open folder, under a name that nobody knows before it is there. Negative: errno is set.
int create_beside(const OpenFolder& place, std::string& name) {
  constexpr std::size_t longest_stem = 240;  // of the 255 bytes that a name may have
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz234567";
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::array<std::uint8_t, 8> random{};
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return -1;
    name = place.name.substr(0, longest_stem) + ".";
    for (const std::uint8_t r : random) name += letters[r % letters.size()];
    name += ".part";
    const int file =
        ::openat(place.folder.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

fs::path whole_path(const std::string& path) {
  std::error_code failure;
  const fs::path end = link_end(path);
  fs::path whole = fs::weakly_canonical(end, failure);
  if (!failure) return whole;
  const fs::path absolute = fs::absolute(end, failure);
  return (failure ? end : absolute).lexically_normal();
}

}  // namespace

std::string link_end(const std::string& path) {
  fs::path at = path;
  for (int i = 0; i < max_links; ++i) {
    std::error_code failure;
    const fs::path target = fs::read_symlink(at, failure);
    if (failure || foreign_link(at)) return at.string();
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return path;
}

std::string foreign_folder(const std::string& path) {
  fs::path at;
  for (const fs::path& part : fs::path(path).parent_path()) {
    at /= part;
    std::error_code failure;
    if (fs::is_symlink(at, failure) && foreign_link(at)) return at.string();
  }
  return {};
}

bool names_open_file(const std::string& path) { return name_of_open_file(path).has_value(); }

std::string_view special_kind(const std::string& path) {
  struct stat s{};
  if (::stat(path.c_str(), &s) != 0 || S_ISREG(s.st_mode)) return {};
  if (S_ISDIR(s.st_mode)) return "a folder";
  if (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode)) return "a device";
  if (S_ISFIFO(s.st_mode)) return "a pipe";
  if (S_ISSOCK(s.st_mode)) return "a socket";
  return "no regular file";
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat of_a{}, of_b{};
  const bool has_a = ::stat(a.c_str(), &of_a) == 0, has_b = ::stat(b.c_str(), &of_b) == 0;
  if (has_a && has_b) return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  return has_a == has_b && whole_path(a) == whole_path(b);
}

void check_distinct(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs) {
  constexpr const char* hint = "give each file a name of its own";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile& input : inputs)
      if (same_file(outputs[i].path, input.path))
        throw InputError(
            fmt::format("{} `{}` would replace {} `{}`", outputs[i].role, outputs[i].path, input.role, input.path),
            hint);
    for (std::size_t j = 0; j < i; ++j)
      if (same_file(outputs[i].path, outputs[j].path))
        throw InputError(fmt::format("{} `{}` would replace {} `{}`", outputs[i].role, outputs[i].path, outputs[j].role,
                                     outputs[j].path),
                         hint);
  }
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Descriptor::~Descriptor() {
  if (file_ >= 0) ::close(file_);
}

int Descriptor::release() { return std::exchange(file_, -1); }

int write_at(int file, std::int64_t offset, std::span<const std::byte> content) {
  const auto size = std::ssize(content);
  return write_pieces(content, [&](std::span<const std::byte> rest) {
    return ::pwrite(file, rest.data(), rest.size(), offset + size - std::ssize(rest));
  });
}

bool read_at(int file, std::int64_t offset, std::span<std::byte> content) {
  while (!content.empty()) {
    const ssize_t n = ::pread(file, content.data(), content.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
  return true;
}

OpenFolder::OpenFolder(const std::string& path) : name(fs::path(path).filename().string()) {
  const fs::path parent = fs::path(path).parent_path();
  folder = Descriptor(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool OpenFolder::holds(const std::string& entry, int file) const {
  struct stat named{}, open{};
  return ::fstatat(folder.get(), entry.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && ::fstat(file, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

PartFile::PartFile(const std::string& path, std::string hint)
    : path_(path), hint_(std::move(hint)), place_(link_end(path)) {
  file_ = Descriptor(place_.folder.get() < 0 ? -1 : create_beside(place_, name_));
  if (file_.get() < 0) cannot_write(path_, errno, hint_);
}

PartFile::~PartFile() {
  if (!done_ && (file_.get() < 0 || place_.holds(name_, file_.get())))
    ::unlinkat(place_.folder.get(), name_.c_str(), 0);
}

std::string PartFile::name_to_open() const {
  const std::string open_file = fmt::format("/proc/self/fd/{}", file_.get());
  return ::access(open_file.c_str(), W_OK) == 0 ? open_file
                                                : (fs::path(link_end(path_)).parent_path() / name_).string();
}

std::string PartFile::part_path() const {
  std::error_code error;
  const fs::path whole = fs::absolute(fs::path(link_end(path_)).parent_path() / name_, error);
  return error ? name_to_open() : whole.string();
}

void PartFile::finish(Durability durability) {
  struct stat earlier{};
  if (::fstatat(place_.folder.get(), place_.name.c_str(), &earlier, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISREG(earlier.st_mode)) {
      [[maybe_unused]] const int ignored =
          ::fchmod(file_.get(), earlier.st_mode & 0777);  // what lies on a disk without rights has none
    } else if (!S_ISLNK(earlier.st_mode)) {
      throw EnvironmentError(fmt::format("cannot write `{}`: it is {}", path_, special_kind(path_)),
                             "choose another name");
    }
  }
  if (!place_.holds(name_, file_.get()))
    throw EnvironmentError(
        fmt::format("cannot write `{}`: another process removed or replaced it while it was written", path_),
        "choose a folder that only you may write");
  if (const int error = complete(file_, durability); error != 0) cannot_write(path_, error, hint_);
  if (::renameat(place_.folder.get(), name_.c_str(), place_.folder.get(), place_.name.c_str()) != 0)
    cannot_write(path_, errno, "may the folder be written?");
  done_ = true;
}

bool written_in_place(const std::string& path) {
  const fs::path end = link_end(path), folder = end.has_parent_path() ? end.parent_path() : ".";
  std::error_code failure;
  return fs::is_regular_file(fs::symlink_status(end, failure)) && ::access(end.c_str(), W_OK) == 0 &&
         ::access(folder.c_str(), W_OK) != 0;
}

std::string write_problem(const std::string& path) {
  if (const std::string_view kind = special_kind(path); !kind.empty()) {
    if (kind == "a folder") return "it is a folder";
    return ::access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  }
  if (names_open_file(path) || written_in_place(path)) return {};
  const fs::path end = link_end(path);
  std::error_code failure;
  fs::create_directories(end.has_parent_path() ? end.parent_path() : ".", failure);
  if (failure) return failure.message();
  const OpenFolder place(end);
  std::string name;
  Descriptor file(place.folder.get() < 0 ? -1 : create_beside(place, name));
  if (file.get() < 0) return std::strerror(errno);
  int error = write_all(file.get(), "x");
  ::unlinkat(place.folder.get(), name.c_str(), 0);
  if (const int closing = complete(file, Durability::until_crash); error == 0) error = closing;
  return error == 0 ? "" : std::strerror(error);
}

OutputFile::OutputFile(const std::string& path, std::string hint, std::size_t size)
    : path_(path), hint_(std::move(hint)) {
  const std::string_view kind = special_kind(path);
  if (kind == "a folder") cannot_write(path, EISDIR, hint_);
  if (const std::optional<std::string> open_file = name_of_open_file(path)) {
    file_ = Descriptor(open_again(*open_file));
  } else if (!kind.empty()) {
    file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    if (::access(path.c_str(), W_OK) != 0 && errno != ENOENT) cannot_write(path, errno, hint_);
    in_place_ = written_in_place(path);
    if (!in_place_) {
      part_.emplace(path, hint_);
      return;
    }
    file_ = Descriptor(::open(link_end(path).c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat before{};
    // A text that does not fit is found before the first byte is replaced.
    if (file_.get() >= 0 && size > 0 && ::fstat(file_.get(), &before) == 0 &&
        static_cast<off_t>(size) > before.st_size) {
      if (const int error = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(size)); error != 0) {
        [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), before.st_size);
        cannot_write(path, error, hint_);
      }
    }
  }
  if (file_.get() < 0) cannot_write(path, errno, hint_);
}

void OutputFile::write(std::string_view content) {
  if (const int error = write_all(part_ ? part_->descriptor() : file_.get(), content); error != 0)
    cannot_write(path_, error, hint_);
}

void OutputFile::finish(Durability durability) {
  if (part_) return part_->finish(durability);
  int error = 0;
  if (in_place_ && ::ftruncate(file_.get(), ::lseek(file_.get(), 0, SEEK_CUR)) != 0) error = errno;
  if (const int closing = complete(file_, in_place_ ? durability : Durability::until_crash); error == 0)
    error = closing;
  if (error != 0) cannot_write(path_, error, hint_);
}

void write_file(const std::string& path, std::string_view content, Durability durability, const std::string& hint) {
  OutputFile file(path, hint, content.size());
  file.write(content);
  file.finish(durability);
}

}  // namespace sial
