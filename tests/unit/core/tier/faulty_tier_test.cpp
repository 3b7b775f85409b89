#include "runtime/core/tier/faulty_tier.h"

#include <catch2/catch.hpp>
#include <limits>
#include <memory>

#include "runtime/core/base/error.h"
#include "runtime/core/tier/simulated_tier.h"
#include "test_transfer.h"

using namespace sial;
using test::Transfer;

namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

std::unique_ptr<Tier> faultless() {
  return std::make_unique<SimulatedTier>(
      std::make_shared<SimulatedSpace>(16 << 20, SimulatedSpeed{0, endless, endless}), [] { return 0.0; });
}

int write_once(Tier& tier) {
  Transfer t(0, 64);
  tier.write(t);
  CHECK(t.calls == 0);  // never within the call
  wait(tier, t);
  return t.result;
}

int read_once(Tier& tier) {
  Transfer t(0, 64);
  tier.read(t, TierPriority::demand);
  CHECK(t.calls == 0);
  wait(tier, t);
  return t.result;
}

}  // namespace

TEST_CASE("the n-th write and the n-th read fail") {
  TierFaults faults;
  faults.fail_write = 2;
  faults.fail_read = 1;
  FaultyTier once(faultless(), faults);
  CHECK(write_once(once) == 0);
  CHECK(read_once(once) == EIO);
  CHECK(write_once(once) == ENOSPC);
  CHECK(write_once(once) == 0);
  CHECK(read_once(once) == 0);
  faults.lasting = true;
  FaultyTier lasting(faultless(), faults);
  CHECK(write_once(lasting) == 0);
  CHECK(write_once(lasting) == ENOSPC);
  CHECK(write_once(lasting) == ENOSPC);
  CHECK(read_once(lasting) == EIO);
  CHECK(read_once(lasting) == EIO);
}

TEST_CASE("the n-th reservation fails") {
  TierFaults faults;
  faults.fail_reserve = 2;
  FaultyTier tier(faultless(), faults);
  tier.reserve(1);
  CHECK_THROWS_AS(tier.reserve(1), EnvironmentError);
  tier.reserve(1);
}

TEST_CASE("a device stalls") {
  double time = 0;
  TierFaults faults;
  faults.stall = 2;
  faults.stall_seconds = 10;
  faults.now = [&] { return time; };
  FaultyTier tier(faultless(), faults);
  Transfer first(0, 64), second(4096, 64), third(8192, 64);
  for (Transfer* t : {&first, &second, &third}) tier.write(*t);
  for (int i = 0; i < 3; ++i) tier.progress();
  CHECK(first.calls == 1);
  CHECK(second.calls == 0);
  CHECK(third.calls == 1);
  time = 9.9;
  for (int i = 0; i < 3; ++i) tier.progress();
  CHECK(second.calls == 0);
  time = 10;
  for (int i = 0; i < 3; ++i) tier.progress();
  CHECK(second.calls == 1);
}

TEST_CASE("completions are late") {
  TierFaults faults;
  faults.delay = 2;
  FaultyTier tier(faultless(), faults);
  Transfer t(0, 64);
  tier.write(t);
  tier.progress();
  tier.progress();
  CHECK(t.calls == 0);
  tier.progress();
  CHECK(t.calls == 1);
}

TEST_CASE("the end of a faulty tier ends what it held") {
  TierFaults faults;
  faults.stall = 1;
  faults.stall_seconds = 10;
  faults.fail_write = 2;
  Transfer stalled(0, 64), failed(4096, 64);
  {
    FaultyTier tier(faultless(), faults);
    tier.write(stalled);
    tier.write(failed);
  }
  CHECK(stalled.calls == 1);
  CHECK(stalled.result == 0);
  CHECK(failed.calls == 1);
  CHECK(failed.result == ENOSPC);
}
