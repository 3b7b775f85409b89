#include "runtime/core/base/output_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/host_name.h"

namespace sial {
namespace {

constexpr std::string_view first_line = "held by a sialx job\n";

/// A text that another process may have written there: printable, one line.
std::string holder_of(int file) {
  std::array<char, 200> bytes{};
  const ssize_t n = ::pread(file, bytes.data(), bytes.size(), 0);
  std::string_view text(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  if (!text.starts_with(first_line)) return {};
  text.remove_prefix(first_line.size());
  std::string holder;
  for (const char c : text.substr(0, text.find('\n'))) holder += c >= ' ' && c <= '~' ? c : '?';
  return holder.empty() ? holder : fmt::format(" ({})", holder);
}

std::string own_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char since[64];
  since[std::strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &parts)] = '\0';
  return fmt::format("{}process {} on {}, since {}\n", first_line, ::getpid(), host_name().data(), since);
}

/// The lock file, made when it is missing. Negative: errno is set.
int open_lock(int folder, const char* name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    int file = ::openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno == EACCES) file = ::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 || errno != ENOENT) return file;
    file = ::openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Nothing but what a job has written, or was about to write.
bool is_lock_file(int file) {
  std::array<char, first_line.size()> bytes{};
  const ssize_t n = ::pread(file, bytes.data(), bytes.size(), 0);
  return n == 0 || std::string_view(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0) == first_line;
}

/// NAME.k3x7qmbd.part, as output_file.cpp makes them.
bool is_part_of(std::string_view entry, std::string_view name) {
  constexpr std::string_view end = ".part";
  constexpr std::size_t letters = 8;
  if (entry.size() != name.size() + 1 + letters + end.size() || !entry.starts_with(name) || entry[name.size()] != '.' ||
      !entry.ends_with(end))
    return false;
  return entry.substr(name.size() + 1, letters).find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") ==
         std::string_view::npos;
}

/// Removes what killed jobs left of this output: whoever holds its lock is the only one that writes it.
void remove_old_parts(const OpenFolder& place) {
  const int again = ::openat(place.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const list = again < 0 ? nullptr : ::fdopendir(again);
  if (!list) {
    if (again >= 0) ::close(again);
    return;
  }
  while (const dirent* entry = ::readdir(list)) {
    if (!is_part_of(entry->d_name, place.name)) continue;
    const Descriptor file(::openat(place.folder.get(), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat about{};
    const bool ours = file.get() >= 0 && ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) &&
                      about.st_uid == ::geteuid() && about.st_nlink == 1;
    if (ours && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && place.holds(entry->d_name, file.get()))
      ::unlinkat(place.folder.get(), entry->d_name, 0);
  }
  ::closedir(list);
}

}  // namespace

OutputLock::OutputLock(const std::string& path, const std::string& remedy) : place_(link_end(path)) {
  constexpr std::size_t longest_stem = 240;
  name_ = "." + place_.name.substr(0, longest_stem) + ".lock";
  for (int attempt = 0; attempt < 100; ++attempt) {
    file_ = Descriptor(place_.folder.get() < 0 ? -1 : open_lock(place_.folder.get(), name_.c_str()));
    struct stat about{};
    if (file_.get() < 0 || ::fstat(file_.get(), &about) != 0) {
      problem_ = std::strerror(errno);
      return;
    }
    if (!S_ISREG(about.st_mode)) {
      problem_ = fmt::format("`{}` is no regular file", name_);
      file_ = Descriptor();
      return;
    }
    while (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        std::error_code ignored;
        const std::filesystem::path folder = std::filesystem::weakly_canonical(link_end(path), ignored).parent_path();
        throw EnvironmentError(fmt::format("another job writes `{}` in the folder `{}`{}", place_.name, folder.string(),
                                           holder_of(file_.get())),
                               remedy);
      }
      problem_ = std::strerror(errno);
      if (about.st_size == 0 && place_.holds(name_, file_.get())) ::unlinkat(place_.folder.get(), name_.c_str(), 0);
      file_ = Descriptor();
      return;
    }
    if (place_.holds(name_, file_.get())) break;  // else the one before removed it in between
  }
  remove_old_parts(place_);
  ours_ = is_lock_file(file_.get());
  if (!ours_) return;  // somebody's file of this name: locked, and left alone
  const std::string text = own_text();
  if (::ftruncate(file_.get(), 0) != 0 || ::pwrite(file_.get(), text.data(), text.size(), 0) < 0)
    return;  // it only says who it is
}

OutputLock::~OutputLock() {
  if (file_.get() >= 0 && ours_ && place_.holds(name_, file_.get())) ::unlinkat(place_.folder.get(), name_.c_str(), 0);
}

}  // namespace sial
