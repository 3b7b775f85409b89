#include "runtime/core/tier/spill_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "runtime/core/base/error.h"
#include "runtime/core/tier/disk_tier.h"
#include "test_transfer.h"

using namespace sial;
using test::Folder;
using test::in_child;
using test::mib;

namespace {

std::uint64_t size_of(const SpillFile& file) {
  struct stat found{};
  REQUIRE(::fstat(file.descriptor(), &found) == 0);
  return static_cast<std::uint64_t>(found.st_size);
}

SpillFileOptions capped(std::uint64_t cap, std::uint64_t step = 64 * mib) {
  SpillFileOptions options;
  options.cap = cap;
  options.step = step;
  return options;
}

template <class Work>
EnvironmentError failure(Work&& work) {
  try {
    work();
  } catch (const EnvironmentError& error) { return error; }
  throw std::runtime_error("no error");
}

struct Mounted {
  ~Mounted() { ::umount2(folder.c_str(), MNT_DETACH); }
  std::string folder;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a spill file keeps its cap to the byte") {
  const Folder folder;
  const auto file = SpillFile::create(folder.path(), capped(3 * mib + 1000, mib));
  CHECK(file->capacity() == 3 * mib);
  CHECK(file->capacity() % file->alignment() == 0);
  file->reserve(1);
  CHECK(size_of(*file) == mib);
  file->reserve(mib);
  CHECK(size_of(*file) == mib);
  file->reserve(mib + 1);
  CHECK(size_of(*file) == 2 * mib);
  file->reserve(3 * mib);
  CHECK(size_of(*file) == 3 * mib);
  const EnvironmentError error = failure([&] { file->reserve(3 * mib + 1); });
  CHECK(contains(error.what(), folder.path() + " ("));
  CHECK(contains(error.what(), "more than the 3.15 MB"));
  CHECK(contains(error.hint(), "--spill"));
  CHECK(size_of(*file) == 3 * mib);
}

TEST_CASE("a spill file without a cap takes what is free") {
  const Folder folder;
  const auto file = SpillFile::create(folder.path());
  CHECK(file->capacity() > 0);
  file->reserve(1);
  CHECK(size_of(*file) <= file->capacity());
}

TEST_CASE("a folder shows no spill file") {
  const Folder folder;
  SpillFileOptions options = capped(mib);
  for (const bool unnamed : {true, false})
    for (const bool direct : {true, false}) {
      options.unnamed = unnamed;
      options.direct = direct;
      const auto file = SpillFile::create(folder.path(), options);
      file->reserve(mib);
      CHECK(folder.empty());
      const auto other = SpillFile::open(file->path_for_others(), folder.path(), file->capacity(), options);
      CHECK(folder.empty());
      CHECK(size_of(*other) == mib);
      CHECK((direct || (!file->direct() && file->memory_alignment() == 1)));
    }
}

TEST_CASE("a spill file outlives its folder") {
  auto folder = std::make_unique<Folder>();
  const std::string path = folder->path();
  DiskTier tier(SpillFile::create(path, capped(4 * mib)));
  folder.reset();
  tier.reserve(2 * mib);
  test::Transfer transfer(0, mib);
  transfer.fill(3);
  tier.write(transfer);
  wait(tier, transfer);
  CHECK(transfer.result == 0);
  const EnvironmentError error = failure([&] { SpillFile::create(path); });
  CHECK(contains(error.what(), "`" + path + "`: No such file or directory"));
  CHECK(contains(error.hint(), "make the folder"));
}

TEST_CASE("folders that are none are refused") {
  const Folder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "x";
  const EnvironmentError error = failure([&] { SpillFile::create(file); });
  CHECK(contains(error.what(), "Not a directory"));
  CHECK(contains(error.hint(), "this is a file"));
  CHECK(contains(failure([&] { SpillFile::create(file + "/below"); }).hint(), "a part of this path is a file"));
  CHECK(contains(failure([&] { SpillFile::open("/proc/self/fd/987", folder.path(), mib); }).what(), "another rank"));
}

TEST_CASE("folders in which one may not write are refused") {
  const Folder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
  if (::access(folder.path().c_str(), W_OK) == 0) {
    const int result = in_child([&] {  // as nobody
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
      return contains(failure([&] { SpillFile::create(folder.path()); }).hint(), "may write") ? 0 : 1;
    });
    CHECK((result == 0 || result == 2));
  } else {
    CHECK(contains(failure([&] { SpillFile::create(folder.path()); }).hint(), "may write"));
  }
}

TEST_CASE("a full disk is told with what is free") {
  const Folder folder;
  if (::mount("sialx-test", folder.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
    WARN("skipped: no tmpfs can be mounted here");
    return;
  }
  const Mounted mounted{folder.path()};
  const auto file = SpillFile::create(folder.path(), capped(100 * mib, 64 * mib));
  file->reserve(3 * mib);  // less than a step is left
  CHECK(size_of(*file) == 3 * mib);
  const EnvironmentError error = failure([&] { file->reserve(6 * mib); });
  CHECK(contains(error.what(), folder.path() + " (tmpfs) is full: 3.15 MB more are needed for blocks"));
  CHECK(contains(error.what(), "are free"));
  CHECK(contains(error.hint(), "free space there"));
  file->reserve(3 * mib);
}

TEST_CASE("a limit of file sizes is told") {
  const Folder folder;
  const int result = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2 * mib, 2 * mib};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const auto file = SpillFile::create(folder.path(), capped(100 * mib));
    file->reserve(mib);
    return contains(failure([&] { file->reserve(8 * mib); }).hint(), "ulimit -f") ? 0 : 1;
  });
  CHECK(result == 0);
}

TEST_CASE("two processes share a spill file") {
  const Folder folder;
  const auto file = SpillFile::create(folder.path(), capped(64 * mib, mib));
  const std::string path = file->path_for_others();
  const std::uint64_t capacity = file->capacity();
  const int result = in_child([&] {
    DiskTier tier(SpillFile::open(path, folder.path(), capacity, capped(0, mib)), EngineKind::threads);
    for (std::uint64_t i = 0; i < 32; ++i) {
      tier.reserve((2 * i + 1) * mib);
      test::Transfer transfer(2 * i * mib, mib, 64);
      transfer.fill(static_cast<double>(i));
      tier.write(transfer);
      wait(tier, transfer);
      if (transfer.result != 0) return 1;
    }
    return 0;
  });
  CHECK(result == 0);
  CHECK(size_of(*file) <= capacity);
  DiskTier tier(SpillFile::open(path, folder.path(), capacity), EngineKind::threads);
  for (std::uint64_t i = 0; i < 32; ++i) {
    test::Transfer transfer(2 * i * mib, mib);
    tier.read(transfer, TierPriority::demand);
    wait(tier, transfer);
    CHECK(transfer.holds(static_cast<double>(i)));
  }
}

TEST_CASE("processes that reserve at the same time never make the file smaller, or too large") {
  const Folder folder;
  const auto file = SpillFile::create(folder.path(), capped(40 * mib + 4096, 4096));
  std::vector<pid_t> children;
  for (int c = 0; c < 3; ++c) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    const auto own = SpillFile::open(file->path_for_others(), folder.path(), file->capacity(), capped(0, 4096));
    for (std::uint64_t bytes = 4096; bytes <= own->capacity(); bytes += 4096 * 16) own->reserve(bytes);
    own->reserve(own->capacity());
    ::_exit(0);
  }
  std::uint64_t seen = 0;
  for (const pid_t child : children) {
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      const std::uint64_t size = size_of(*file);
      CHECK(size >= seen);
      seen = size;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(status == 0);
  }
  CHECK(size_of(*file) == file->capacity());
}

TEST_CASE("a process that is killed leaves nothing behind") {
  const Folder folder;
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      DiskTier tier(SpillFile::create(folder.path(), capped(64 * mib, mib)));
      const auto other = SpillFile::open(tier.file().path_for_others(), folder.path(), tier.capacity());
      test::Transfer transfer(0, 4 * mib, 64);
      transfer.fill(1);
      for (std::uint64_t n = 0;; n = (n + 1) % 15) {
        tier.reserve((n + 1) * 4 * mib);
        transfer.calls = 0;
        transfer.at = n * 4 * mib;
        tier.write(transfer);
        wait(tier, transfer);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(folder.empty());
  }
}
