#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "runtime/core/tier/disk_tier.h"
#include "suite.h"

using namespace sial;

namespace {

suite::Subject disk(EngineKind engine, bool direct,
                    const std::string& folder = std::filesystem::temp_directory_path().string()) {
  suite::Subject subject;
  subject.make = [=]() -> std::unique_ptr<Tier> {
    SpillFileOptions options;
    options.cap = suite::space_bytes;
    options.direct = direct;
    return std::make_unique<DiskTier>(SpillFile::create(folder, options), engine);
  };
  subject.pause = [] { std::this_thread::yield(); };
  return subject;
}

}  // namespace

TEST_CASE("a disk through threads conforms") {
  for (const bool direct : {true, false}) suite::run_all(disk(EngineKind::threads, direct), 1);
}

TEST_CASE("a disk through io_uring conforms") {
  if (!has_uring()) {
    WARN("skipped: this system has no io_uring, or does not let us use it");
    return;
  }
  for (const bool direct : {true, false}) suite::run_all(disk(EngineKind::uring, direct), 2);
}

TEST_CASE("a disk whose engine is chosen conforms") { suite::run_all(disk(EngineKind::automatic, true), 3); }

TEST_CASE("a file system in memory conforms") {
  if (std::filesystem::is_directory("/dev/shm")) suite::run_all(disk(EngineKind::automatic, true, "/dev/shm"), 4);
}
