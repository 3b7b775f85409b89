#include "runtime/core/transport/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

namespace {

constexpr std::string_view descriptors = "/proc/";
constexpr std::size_t granule = 65536;  // of commitment

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

std::string in_units(double bytes) {
  if (bytes >= 1 << 30) return fmt::format("{:.1f} GB", bytes / (1 << 30));
  return fmt::format("{:.1f} MB", bytes / (1 << 20));
}

EnvironmentError failure(const std::string& what, const std::string& purpose, int error) {
  return EnvironmentError(fmt::format("cannot {} shared memory for {}: {}", what, purpose, std::strerror(error)),
                          "check that /dev/shm exists and is writable");
}

}  // namespace

SharedMemory::SharedMemory(std::size_t reserve_bytes, const std::string& purpose) : purpose_(purpose) {
  reserved_ = round_up(std::max(reserve_bytes, std::size_t{1}), granule);
  const std::size_t words = 1 + (reserved_ / granule + 63) / 64;
  bookkeeping_ = round_up(words * sizeof(std::uint64_t), granule);
}

bool SharedMemory::is_descriptor(std::string_view name) { return name.starts_with(descriptors); }

/// `/proc/PROCESS/fd/NUMBER INODE`: the number of the process may mean another one where it is read.
void SharedMemory::create_file(Naming naming) {
  if (naming == Naming::descriptor) {
    file_ = ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct stat made{};
    if (file_ >= 0 && fstat(file_, &made) == 0) {
      name_ = fmt::format("{}{}/fd/{} {}", descriptors, getpid(), file_, made.st_ino);
      return;
    }
    if (file_ >= 0) close(file_);
  }
  std::random_device random;
  do {
    name_ = fmt::format("/sialx-{}-{}-{:08x}", getuid(), getpid(), random());
    file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) throw failure("create", purpose_, errno);
  named_ = true;
}

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t reserve_bytes, const std::string& purpose,
                                                   Naming naming) {
  std::shared_ptr<SharedMemory> memory(new SharedMemory(reserve_bytes, purpose));
  memory->create_file(naming);
  if (ftruncate(memory->file_, static_cast<off_t>(memory->reserved_ + memory->bookkeeping_)) != 0)
    throw failure("size", purpose, errno);
  memory->map();
  memory->allocate(memory->reserved_, memory->bookkeeping_);
  return memory;
}

std::shared_ptr<SharedMemory> SharedMemory::open(const std::string& name, std::size_t reserve_bytes,
                                                 const std::string& purpose) {
  std::shared_ptr<SharedMemory> memory(new SharedMemory(reserve_bytes, purpose));
  memory->name_ = name;
  const std::size_t blank = is_descriptor(name) ? name.find(' ') : std::string::npos;
  memory->file_ = is_descriptor(name) ? ::open(name.substr(0, blank).c_str(), O_RDWR | O_CLOEXEC)
                                      : shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600);
  if (memory->file_ < 0) throw failure("open", purpose, errno);
  struct stat found{};
  if (fstat(memory->file_, &found) != 0) throw failure("inspect", purpose, errno);
  if (blank != std::string::npos && name.substr(blank + 1) != std::to_string(found.st_ino))
    throw failure("open", purpose, ENOENT);
  SIAL_CHECK(static_cast<std::size_t>(found.st_size) == memory->reserved_ + memory->bookkeeping_,
             "ranks of a node ask for different sizes of {}", purpose);
  memory->map();
  return memory;
}

void SharedMemory::map() {
  void* p = mmap(nullptr, reserved_ + bookkeeping_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (p == MAP_FAILED)
    throw EnvironmentError(fmt::format("cannot reserve an address range of {} for {}: {}",
                                       in_units(static_cast<double>(reserved_)), purpose_, std::strerror(errno)),
                           "ask for less memory per rank with `--memory`, or raise `ulimit -v`");
  base_ = static_cast<std::byte*>(p);
}

SharedMemory::~SharedMemory() {
  remove_name();
  if (base_) munmap(base_, reserved_ + bookkeeping_);
  if (file_ >= 0) close(file_);
}

void SharedMemory::remove_name() {
  if (named_) shm_unlink(name_.c_str());
  named_ = false;
}

std::atomic<std::uint64_t>* SharedMemory::counter() const {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + reserved_);
}

std::size_t SharedMemory::committed() const { return counter()->load(); }

void SharedMemory::allocate(std::size_t offset, std::size_t bytes) {
  int error = 0;
  do error = posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (error == EINTR);
  if (error == 0) return;
  struct statvfs fs{};
  if ((error != ENOSPC && error != ENOMEM) || statvfs("/dev/shm", &fs) != 0) throw failure("commit", purpose_, error);
  const double unit = static_cast<double>(fs.f_frsize), total = unit * static_cast<double>(fs.f_blocks),
               available = unit * static_cast<double>(fs.f_bavail);
  // The job's further needs are not known here; they are no more than has been reserved.
  const double held = offset < reserved_ ? static_cast<double>(committed()) : 0.0, others = total - available - held,
               reserved = static_cast<double>(reserved_), twice = 2 * (held + static_cast<double>(bytes));
  const auto megabytes = [](double size) { return static_cast<std::int64_t>(size / (1 << 20)) + 1; };
  const std::int64_t size = megabytes(others + std::min(twice, reserved));
  throw EnvironmentError(
      fmt::format("/dev/shm is too small: {} more are needed for {}, {} of {} are free",
                  in_units(static_cast<double>(bytes)), purpose_, in_units(available), in_units(total)),
      fmt::format("enlarge it, here to twice what is held: `mount -o remount,size={}M /dev/shm`, for a container "
                  "`docker run --shm-size={}m`; `--dry-run` says what the job needs, and `--memory` allows {}M",
                  size, size, megabytes(others + reserved)));
}

void SharedMemory::commit(std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  SIAL_CHECK(offset <= reserved_ && bytes <= reserved_ - offset, "commit of [{}, +{}) in {} bytes of {}", offset, bytes,
             reserved_, purpose_);
  const std::size_t end = round_up(offset + bytes, granule) / granule;
  for (std::size_t g = offset / granule; g < end;) {
    if (is_committed(g)) {
      ++g;
      continue;
    }
    std::size_t last = g + 1;
    while (last < end && !is_committed(last)) ++last;
    // Pages first, bits after: who sees a bit may touch the pages. Two ranks doing the same is harmless.
    allocate(g * granule, (last - g) * granule);
    for (; g < last; ++g)
      if (const std::uint64_t bit = std::uint64_t{1} << (g % 64); (bits()[g / 64].fetch_or(bit) & bit) == 0)
        counter()->fetch_add(granule);
  }
}

std::size_t SharedMemory::uncommitted(std::size_t offset, std::size_t bytes) const {
  std::size_t missing = 0;
  for (std::size_t g = offset / granule; g < round_up(offset + bytes, granule) / granule; ++g)
    missing += is_committed(g) ? 0 : granule;
  return missing;
}

void SharedMemory::uncommit(std::size_t offset, std::size_t bytes) {
  const std::size_t end = (offset + bytes) / granule;
  for (std::size_t g = round_up(offset, granule) / granule; g < end;) {
    if (!is_committed(g)) {
      ++g;
      continue;
    }
    std::size_t last = g + 1;
    while (last < end && is_committed(last)) ++last;
    if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(g * granule),
                  static_cast<off_t>((last - g) * granule)) != 0)
      return;  // it stays: more is used than need be
    for (; g < last; ++g) {
      const std::uint64_t bit = std::uint64_t{1} << (g % 64);
      if ((bits()[g / 64].fetch_and(~bit) & bit) != 0) counter()->fetch_sub(granule);
    }
  }
}

}  // namespace sial
