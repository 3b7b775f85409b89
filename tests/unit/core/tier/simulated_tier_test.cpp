#include "runtime/core/tier/simulated_tier.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "runtime/core/base/error.h"
#include "test_transfer.h"

using namespace sial;
using test::Transfer;

namespace {

struct Simulation {
  double time = 0;
  std::shared_ptr<SimulatedSpace> space =
      std::make_shared<SimulatedSpace>(16 * test::mib, SimulatedSpeed{0.5, 8000, 4000});
  SimulatedTier tier{space, [this] { return time; }};

  int calls_at(double at, const Transfer& transfer) {
    time = at;
    tier.progress();
    return transfer.calls;
  }
};

}  // namespace

TEST_CASE("simulated transfers end when latency and bandwidth say") {
  Simulation s;
  Transfer a(0, 8000), b(8192, 4000);
  a.fill(1);
  b.fill(2);
  s.tier.write(a);
  s.tier.write(b);
  CHECK(s.tier.next_completion().value() == Approx(2.5));
  CHECK(s.calls_at(2.4, a) == 0);
  CHECK(s.calls_at(2.6, a) == 1);
  CHECK(s.tier.next_completion().value() == Approx(3.5));
  CHECK(s.calls_at(3.4, b) == 0);
  CHECK(s.calls_at(3.6, b) == 1);
  CHECK_FALSE(s.tier.next_completion().has_value());
}

TEST_CASE("what is read holds NaN until it has come") {
  Simulation s;
  Transfer block(0, 8000);
  block.fill(5);
  s.tier.write(block);
  CHECK(s.calls_at(10, block) == 1);
  block.calls = 0;
  s.tier.read(block, TierPriority::demand);
  CHECK(std::isnan(block.values()[0]));
  CHECK(std::isnan(block.values()[999]));
  CHECK(s.calls_at(11.4, block) == 0);
  CHECK(s.calls_at(11.6, block) == 1);
  CHECK(block.holds(5));
  Transfer never_written(4096 * 4, 8);
  s.tier.read(never_written, TierPriority::demand);
  CHECK(s.calls_at(20, never_written) == 1);
  CHECK(std::isnan(never_written.values()[0]));
}

TEST_CASE("demands overtake prefetches that have not begun") {
  Simulation s;
  Transfer first(0, 8000), prefetch(8192, 8000), raised(16384, 8000), demand(24576, 8000);
  s.tier.read(first, TierPriority::prefetch);
  CHECK(s.calls_at(0.1, first) == 0);  // it has begun
  s.tier.read(prefetch, TierPriority::prefetch);
  s.tier.read(raised, TierPriority::prefetch);
  s.tier.read(demand, TierPriority::demand);
  s.tier.raise(raised);
  s.tier.raise(first);
  CHECK(s.calls_at(1.6, first) == 1);
  CHECK(s.calls_at(2.6, demand) == 1);
  CHECK(raised.calls == 0);
  CHECK(s.calls_at(3.6, raised) == 1);
  CHECK(prefetch.calls == 0);
  CHECK(s.calls_at(4.6, prefetch) == 1);
}

TEST_CASE("ranks share a simulated space, and each ends its own transfers") {
  Transfer written(0, 800), read(0, 800), left(4096, 800);  // the last ends with its tier
  Simulation s;
  auto other = std::make_unique<SimulatedTier>(s.space, [&] { return s.time; });
  written.fill(9);
  s.tier.write(written);
  s.time = 5;
  other->progress();
  CHECK(written.calls == 1);
  s.tier.write(left);
  other->read(read, TierPriority::demand);
  other.reset();
  CHECK(read.calls == 1);
  CHECK(read.holds(9));
  CHECK(left.calls == 0);
}

TEST_CASE("a simulated space has a capacity") {
  Simulation s;
  s.tier.reserve(16 * test::mib);
  CHECK_THROWS_AS(s.tier.reserve(16 * test::mib + 1), EnvironmentError);
  CHECK(s.tier.speed().write_bandwidth == 4000);
}
