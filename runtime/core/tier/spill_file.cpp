#include "runtime/core/tier/spill_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/tier/file_system_name.h"

namespace sial {
namespace {

constexpr std::uint64_t page = 4096;  // of the page cache: what is written in such units needs no reading before

std::uint64_t round_down(std::uint64_t n, std::uint64_t unit) { return n / unit * unit; }
std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return round_down(n + unit - 1, unit); }

std::string amount(std::uint64_t bytes) { return bytes_text(static_cast<std::int64_t>(bytes)); }

/// The file has a name between two calls of the system: a process that is killed there leaves an empty file.
int create_named(const std::string& directory) {
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = fmt::format("{}/sialx-spill-{}-{:08x}{:08x}", directory, ::getpid(), random(), random());
    const int file = ::open(name.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (file >= 0) ::unlink(name.c_str());
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Negative: errno is set. File systems without O_TMPFILE say so by different errors.
int create_file(const std::string& directory, bool unnamed) {
  if (unnamed) {
    const int file = ::open(directory.c_str(), O_RDWR | O_CLOEXEC | O_TMPFILE | O_EXCL, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  }
  return create_named(directory);
}

/// Not when the file is opened: where direct I/O is not possible that would fail with the file left behind.
bool make_direct(int file) { return ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_DIRECT) == 0; }

void make_buffered(int file) { ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_DIRECT); }

std::string creation_remedy(int error, const std::string& directory) {
  std::error_code ignored;
  switch (error) {
    case ENOTDIR:
      return std::filesystem::exists(directory, ignored)
                 ? "this is a file: name a folder with `--spill`"
                 : "a part of this path is a file: name another folder with `--spill`";
    case ENOENT: return "make the folder, or name another one with `--spill`";
    case EACCES:
    case EPERM:
    case EROFS: return "name a folder with `--spill` in which you may write";
    case ENOSPC:
    case EDQUOT: return "free space there, or name another folder with `--spill`";
    default: return "name another folder with `--spill`";
  }
}

}  // namespace

SpillFile::SpillFile(std::string directory, const SpillFileOptions& options)
    : directory_(std::move(directory)), options_(options) {}

std::unique_ptr<SpillFile> SpillFile::create(const std::string& directory, const SpillFileOptions& options) {
  std::unique_ptr<SpillFile> file(new SpillFile(directory, options));
  Descriptor opened(create_file(directory, options.unnamed));
  if (const int error = errno; opened.get() < 0)
    throw EnvironmentError(
        fmt::format("cannot make a file for blocks in the folder `{}`: {}", directory, std::strerror(error)),
        creation_remedy(error, directory));
  file->use(std::move(opened));
  file->capacity_ = round_down(options.cap ? options.cap : file->free_bytes(), file->alignment_);
  return file;
}

std::unique_ptr<SpillFile> SpillFile::open(const std::string& path, const std::string& directory,
                                           std::uint64_t capacity, const SpillFileOptions& options) {
  std::unique_ptr<SpillFile> file(new SpillFile(directory, options));
  Descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (const int error = errno; opened.get() < 0)
    throw EnvironmentError(fmt::format("a rank cannot open the file for blocks in the folder `{}`, which another rank "
                                       "of its node made: {}",
                                       directory, std::strerror(error)),
                           "the ranks of a node need one /proc, and one user");
  file->use(std::move(opened));
  file->capacity_ = capacity;
  return file;
}

void SpillFile::use(Descriptor file) {
  file_ = std::move(file);
  file_system_ = file_system_name(file_.get());
  direct_ = options_.direct && make_direct(file_.get());
  inspect();
}

/// Asks the file system what direct I/O needs. A file system that does not say gets what every disk takes.
void SpillFile::inspect() {
  alignment_ = page;
  memory_alignment_ = direct_ ? page : 1;
  struct statx found{};
  if (!direct_ || ::statx(file_.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) != 0) return;
  if ((found.stx_mask & STATX_DIOALIGN) == 0) return;
  if (found.stx_dio_mem_align == 0 || found.stx_dio_offset_align == 0) {  // not for this file
    make_buffered(file_.get());
    direct_ = false;
    memory_alignment_ = 1;
    return;
  }
  memory_alignment_ = found.stx_dio_mem_align;
  alignment_ = round_up(page, found.stx_dio_offset_align);
}

std::string SpillFile::path_for_others() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()); }

std::string SpillFile::place() const { return fmt::format("{} ({})", directory_, file_system_); }

std::uint64_t SpillFile::size() const {
  struct stat found{};
  SIAL_CHECK(::fstat(file_.get(), &found) == 0, "fstat of the file for blocks: {}", std::strerror(errno));
  return static_cast<std::uint64_t>(found.st_size);
}

std::uint64_t SpillFile::free_bytes() const {
  struct statvfs found{};
  return ::fstatvfs(file_.get(), &found) == 0 ? std::uint64_t{found.f_frsize} * found.f_bavail : 0;
}

/// Only ever makes the file larger, so that ranks may do it at the same time. Where space cannot be reserved, writing
/// makes the file larger; then there is at least enough of it now.
int SpillFile::extend(std::uint64_t from, std::uint64_t to) const {
  while (::fallocate(file_.get(), 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    return free_bytes() < to - from ? ENOSPC : 0;
  }
  return 0;
}

void SpillFile::reserve(std::uint64_t bytes) {
  if (bytes <= reserved_.load(std::memory_order_acquire)) return;
  if (bytes > capacity_) cannot_reserve(bytes, EFBIG);
  const std::lock_guard lock(extending_);
  const std::uint64_t present = std::max(size(), reserved_.load());
  const std::uint64_t needed = std::min(round_up(bytes, alignment_), capacity_);
  std::uint64_t end = present;
  if (present < needed) {
    end = std::clamp(round_up(present + std::max(options_.step, present / 4), alignment_), needed, capacity_);
    int error = extend(present, end);
    if (error != 0 && end > needed) error = extend(present, end = needed);
    if (error != 0) cannot_reserve(needed - present, error);
  }
  reserved_.store(end, std::memory_order_release);
}

void SpillFile::cannot_reserve(std::uint64_t bytes, int error) const {
  if (bytes > capacity_ && error == EFBIG)
    throw EnvironmentError(fmt::format("blocks need {} in {}, more than the {} that they may take there", amount(bytes),
                                       place(), amount(capacity_)),
                           "raise the size of this folder in `--spill`, name one more folder, or raise `--memory`");
  if (error == ENOSPC || error == EDQUOT)
    throw EnvironmentError(
        fmt::format("{} is full: {} more are needed for blocks, {} are free{}", place(), amount(bytes),
                    amount(free_bytes()), error == EDQUOT ? ", and the quota is used up" : ""),
        "free space there, name another folder with `--spill`, or raise `--memory`");
  throw EnvironmentError(fmt::format("cannot reserve {} more for blocks in {}, where {} are free: {}", amount(bytes),
                                     place(), amount(free_bytes()), std::strerror(error)),
                         error == EFBIG ? "raise `ulimit -f`, or name another folder with `--spill`"
                                        : "name another folder with `--spill`, or raise `--memory`");
}

}  // namespace sial
