#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "runtime/core/tier/disk_tier.h"
#include "runtime/core/tier/faulty_tier.h"
#include "runtime/core/tier/simulated_tier.h"
#include "suite.h"

using namespace sial;

namespace {

/// A clock that goes on whenever somebody looks.
std::function<double()> looked_at() {
  return [looks = std::make_shared<std::atomic<int>>(0)] { return 20e-6 * ++*looks; };
}

std::unique_ptr<Tier> simulated() {
  return std::make_unique<SimulatedTier>(std::make_shared<SimulatedSpace>(suite::space_bytes, SimulatedSpeed{}),
                                         looked_at());
}

std::unique_ptr<Tier> disk() {
  SpillFileOptions options;
  options.cap = suite::space_bytes;
  return std::make_unique<DiskTier>(SpillFile::create(std::filesystem::temp_directory_path().string(), options));
}

suite::Subject faulty(std::unique_ptr<Tier> (*below)(), const TierFaults& faults) {
  suite::Subject subject;
  subject.make = [=] { return std::make_unique<FaultyTier>(below(), faults); };
  subject.pause = [] { std::this_thread::yield(); };
  return subject;
}

}  // namespace

TEST_CASE("a simulated tier conforms") {
  suite::Subject subject;
  subject.make = simulated;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) suite::run_all(subject, seed);
}

TEST_CASE("a faulty tier without a fault conforms") {
  suite::run_all(faulty(simulated, {}), 1);
  suite::run_all(faulty(disk, {}), 2);
}

TEST_CASE("a tier that is late conforms") {
  TierFaults faults;
  faults.delay = 3;
  faults.stall = 5;
  faults.stall_seconds = 0.01;
  faults.now = looked_at();
  suite::run_all(faulty(simulated, faults), 1);
  suite::run_all(faulty(disk, faults), 2);
}
