#include "runtime/core/tier/disk_tier.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <memory>

#include "runtime/core/base/error.h"
#include "runtime/core/tier/transfer_failure.h"
#include "test_transfer.h"

using namespace sial;
using test::Folder;
using test::mib;
using test::Transfer;

namespace {

std::unique_ptr<DiskTier> tier_in(const Folder& folder, EngineKind engine, bool direct = true) {
  SpillFileOptions options;
  options.cap = 64 * mib;
  options.direct = direct;
  return std::make_unique<DiskTier>(SpillFile::create(folder.path(), options), engine);
}

std::vector<EngineKind> engines() {
  std::vector<EngineKind> found{EngineKind::threads};
  if (has_uring()) found.push_back(EngineKind::uring);
  return found;
}

}  // namespace

TEST_CASE("the engine is what was asked for, or chosen") {
  const Folder folder;
  CHECK(tier_in(folder, EngineKind::threads)->engine() == "threads");
  if (has_uring()) CHECK(tier_in(folder, EngineKind::uring)->engine() == "io_uring");
  else CHECK_THROWS_AS(tier_in(folder, EngineKind::uring), EnvironmentError);
  CHECK(tier_in(folder, EngineKind::automatic, false)->engine() == "threads");  // through the page cache
}

TEST_CASE("a read beyond the end of the file fails") {
  const Folder folder;
  for (const EngineKind engine : engines()) {
    const auto tier = tier_in(folder, engine);
    Transfer transfer(8 * mib, 3 * mib, 64);
    tier->read(transfer, TierPriority::demand);
    wait(*tier, transfer);
    CHECK(transfer.calls == 1);
    CHECK(transfer.result == EIO);
    const EnvironmentError error = transfer_failure(*tier, false, transfer.result);
    CHECK(error.what() == "cannot read blocks from " + tier->name() + ": Input/output error");
    CHECK(error.hint().find("dmesg") != std::string::npos);
  }
}

TEST_CASE("a write that the system refuses fails, and the tier goes on") {
  const Folder folder;
  const int result = test::in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2 * mib, 2 * mib};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    for (const EngineKind engine : engines()) {
      const auto tier = tier_in(folder, engine);
      Transfer beyond(4 * mib, 5 * mib), within(mib, 4096);
      within.fill(7);
      tier->write(beyond);
      tier->write(within);
      wait(*tier, beyond);
      wait(*tier, within);
      if (beyond.result != EFBIG || beyond.calls != 1 || within.result != 0) return 1;
    }
    return 0;
  });
  CHECK(result == 0);
}

TEST_CASE("more transfers than can be under way all end") {
  const Folder folder;
  for (const EngineKind engine : engines()) {
    const auto tier = tier_in(folder, engine);
    tier->reserve(32 * mib);
    std::vector<std::unique_ptr<Transfer>> blocks;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      blocks.push_back(std::make_unique<Transfer>(i * 32768, 32000, 64 * (i % 3)));
      blocks.back()->fill(static_cast<double>(i));
      tier->write(*blocks.back());
    }
    for (const auto& block : blocks) wait(*tier, *block);
    for (const auto& block : blocks) {
      block->fill(-1);
      block->calls = 0;
      tier->read(*block, TierPriority::prefetch);
    }
    for (std::uint64_t i = blocks.size(); i-- > 0;) {
      tier->raise(*blocks[i]);
      wait(*tier, *blocks[i]);
      REQUIRE(blocks[i]->holds(static_cast<double>(i)));
    }
  }
}

TEST_CASE("speed is measured") {
  const Folder folder;
  for (const EngineKind engine : engines()) {
    const auto tier = tier_in(folder, engine);
    tier->reserve(32 * mib);
    CHECK(tier->speed().read_bandwidth == 0);
    Transfer large(0, 16 * mib), small(0, 4096);
    tier->write(large);
    wait(*tier, large);
    CHECK(tier->speed().write_bandwidth > 1e6);
    CHECK(tier->speed().latency == 0);
    tier->read(small, TierPriority::demand);
    wait(*tier, small);
    CHECK(tier->speed().latency > 0);
    CHECK(tier->speed().latency < 5);
    CHECK(tier->speed().read_bandwidth > 0);
  }
}
