// What eviction goes by.
#include <catch2/catch.hpp>

#include <vector>

#include "runtime/core/device/cache/next_use.h"

using namespace sial;

namespace {

const double memory[8] = {};

}  // namespace

TEST_CASE("a block is expected as long after its use at a statement as the last time") {
  DeviceNextUse n;
  const double far = n.expect(1, ArrayId(1), memory);
  n.used_again(1, ArrayId(1), memory, 7.0);
  n.used_again(2, ArrayId(1), memory, 100.0);
  CHECK(n.expect(1, ArrayId(1), memory) == 7.0);
  CHECK(n.expect(2, ArrayId(1), memory) == 100.0);
  CHECK(n.expect(1, ArrayId(2), memory) == far);
  CHECK(far > 100.0);
  n.used_again(1, ArrayId(1), memory, 9.0);
  CHECK(n.expect(1, ArrayId(1), memory) == 9.0);
}

TEST_CASE("a block that was not seen is expected like others of its array at the statement") {
  DeviceNextUse n;
  n.used_again(1, ArrayId(1), memory, 10.0);
  CHECK(n.expect(1, ArrayId(1), memory + 1) == 10.0);
  n.used_again(1, ArrayId(1), memory + 2, 20.0);
  CHECK(n.expect(1, ArrayId(1), memory + 1) > 10.0);
  CHECK(n.expect(1, ArrayId(1), memory + 1) < 20.0);
  CHECK(n.expect(1, ArrayId(2), memory + 1) > 20.0);
  for (int i = 0; i < 30; ++i) n.not_used_again(1, ArrayId(1), memory + 3);
  CHECK(n.expect(1, ArrayId(1), memory + 1) == DeviceNextUse::never);
  CHECK(n.expect(1, ArrayId(1), memory) == 10.0);  // of this one more is known
  n.not_used_again(1, ArrayId(1), memory);
  CHECK(n.expect(1, ArrayId(1), memory) == DeviceNextUse::never);
  for (int i = 0; i < 3; ++i) n.used_again(1, ArrayId(1), memory + 4, 5.0);
  CHECK(n.expect(1, ArrayId(1), memory + 1) < 20.0);
}
