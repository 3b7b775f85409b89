#include "runtime/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as the kernel follows

/// Of a failed call: errno, kept from what cleaning up does to it.
[[noreturn]] void cannot_write(const std::string& path, int error, const std::string& hint) {
  throw WorldError(fmt::format("cannot write `{}`: {}", path, std::strerror(error)), hint);
}

/// Where a path such as /dev/stdout names what a process has open: its name below /proc or /dev/fd.
std::optional<std::string> name_of_open_file(const std::string& path) {
  fs::path at = path;
  std::error_code failure;
  for (int i = 0; i < most_links; ++i) {
    const std::string text = at.lexically_normal().string();
    if (text.starts_with("/proc/") || text.starts_with("/dev/fd/")) return text;
    const fs::path target = fs::read_symlink(at, failure);
    if (failure) return std::nullopt;
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return std::nullopt;
}

/// What is open is written into where it stands, even when it is a regular file: others hold it by that name. Negative: errno is set.
int open_again(const std::string& name) {
  std::fflush(nullptr);  // what was written there before comes before
  for (const std::string& folder : {std::string("/dev/fd/"), std::string("/proc/self/fd/"), fmt::format("/proc/{}/fd/", ::getpid())}) {
    if (!name.starts_with(folder)) continue;
    int descriptor = -1;
    const char* const last = name.data() + name.size();
    if (const auto [end, error] = std::from_chars(name.data() + folder.size(), last, descriptor); error == std::errc() && end == last && descriptor >= 0) return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  }
  return ::open(name.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

/// Writes all of `content`; 0 or the error. Closes the file in any case.
int write_and_close(int file, std::string_view content, Durability durability) {
  int error = 0;
  while (!content.empty() && error == 0) {
    const ssize_t n = ::write(file, content.data(), content.size());
    if (n > 0) content.remove_prefix(static_cast<std::size_t>(n));
    else if (n == 0) error = ENOSPC;
    else if (errno != EINTR) error = errno;
  }
  if (error == 0 && durability == Durability::on_disk && ::fsync(file) != 0 && errno != EINVAL) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
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
  for (int i = 0; i < most_links; ++i) {
    std::error_code failure;
    const fs::path target = fs::read_symlink(at, failure);
    if (failure) return at.string();
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return path;
}

std::string_view special_kind(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0 || S_ISREG(s.st_mode)) return {};
  if (S_ISDIR(s.st_mode)) return "a folder";
  if (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode)) return "a device";
  if (S_ISFIFO(s.st_mode)) return "a pipe";
  if (S_ISSOCK(s.st_mode)) return "a socket";
  return "no regular file";
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat of_a {}, of_b {};
  const bool has_a = ::stat(a.c_str(), &of_a) == 0, has_b = ::stat(b.c_str(), &of_b) == 0;
  if (has_a && has_b) return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  return has_a == has_b && whole_path(a) == whole_path(b);
}

void check_distinct(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs) {
  constexpr const char* hint = "give each file a name of its own";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile& input : inputs)
      if (same_file(outputs[i].path, input.path))
        throw WorldError(fmt::format("{} `{}` would replace {} `{}`", outputs[i].role, outputs[i].path, input.role, input.path), hint);
    for (std::size_t j = 0; j < i; ++j)
      if (same_file(outputs[i].path, outputs[j].path))
        throw WorldError(fmt::format("{} `{}` would replace {} `{}`", outputs[i].role, outputs[i].path, outputs[j].role, outputs[j].path), hint);
  }
}

PartFile::PartFile(const std::string& path) : path_(path), end_(link_end(path)), name_(end_ + ".part") {}

PartFile::~PartFile() {
  if (!done_) ::unlink(name_.c_str());
}

void PartFile::finish() {
  struct stat earlier {};
  if (::stat(end_.c_str(), &earlier) == 0) {
    if (!S_ISREG(earlier.st_mode)) throw WorldError(fmt::format("cannot write `{}`: it is {}", path_, special_kind(end_)), "choose another name");
    [[maybe_unused]] const int ignored = ::chmod(name_.c_str(), earlier.st_mode & 07777);  // what lies on a disk without rights has none
  }
  if (std::rename(name_.c_str(), end_.c_str()) != 0) cannot_write(path_, errno, "may the folder be written?");
  done_ = true;
}

std::string write_problem(const std::string& path) {
  if (const std::string_view kind = special_kind(path); !kind.empty()) {
    if (kind == "a folder") return "it is a folder";
    return ::access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  }
  const fs::path end = link_end(path);
  std::error_code failure;
  fs::create_directories(end.has_parent_path() ? end.parent_path() : ".", failure);
  if (failure) return failure.message();
  const std::string probe = end.string() + ".probe";
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const int error = file < 0 ? errno : write_and_close(file, "x", Durability::until_crash);
  ::unlink(probe.c_str());
  return error == 0 ? "" : std::strerror(error);
}

void bring_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const int error = file < 0 ? errno : write_and_close(file, {}, Durability::on_disk);
  if (error != 0) cannot_write(path, error, "is the disk full?");
}

void write_file(const std::string& path, std::string_view content, Durability durability, const std::string& hint) {
  const std::string_view kind = special_kind(path);
  if (kind == "a folder") cannot_write(path, EISDIR, hint);
  const std::optional<std::string> open_file = name_of_open_file(path);
  if (open_file || !kind.empty()) {
    const int file = open_file ? open_again(*open_file) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const int error = file < 0 ? errno : write_and_close(file, content, Durability::until_crash);
    if (error != 0) cannot_write(path, error, hint);
    return;
  }
  if (::access(path.c_str(), W_OK) != 0 && errno != ENOENT) cannot_write(path, errno, hint);
  PartFile part(path);
  const int file = ::open(part.name().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const int error = file < 0 ? errno : write_and_close(file, content, durability);
  if (error != 0) cannot_write(path, error, hint);
  part.finish();
}

}  // namespace sial
