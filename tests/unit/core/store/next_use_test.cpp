// When a block is expected that no open loop uses.
#include <catch2/catch.hpp>

#include "runtime/core/store/spill/next_use.h"

using namespace sial;

TEST_CASE("the interval of a block is the longest of late, in steps") {
  std::uint16_t interval = UseInterval::with(0, 100000);
  CHECK(UseInterval::uses(interval) >= 100000);
  CHECK(UseInterval::uses(interval) < 100000 + 256);
  // Several uses in each iteration: the long one still counts.
  for (int iteration = 0; iteration < 5; ++iteration) {
    for (int use = 0; use < 2; ++use) interval = UseInterval::with(interval, 300);
    CHECK(UseInterval::uses(interval) >= 100000 / 2);
    interval = UseInterval::with(interval, 100000);
    CHECK(UseInterval::uses(interval) >= 100000);
  }
  // What comes faster from now on is noticed.
  for (int use = 0; use < 40; ++use) interval = UseInterval::with(interval, 300);
  CHECK(UseInterval::uses(interval) < 2048);
  CHECK(UseInterval::uses(UseInterval::with(0, std::uint64_t{1} << 40)) == 65535 * 256);
}
