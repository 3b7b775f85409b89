// What eviction goes by, and what it is measured against.
#include <catch2/catch.hpp>

#include <vector>

#include "runtime/core/device/cache/next_use.h"
#include "runtime/core/device/cache/offline_optimum.h"

using namespace sial;

namespace {

const double memory[8] = {};
OfflineOptimum::Key key(int block, std::uint64_t content = 1) { return {memory + block, content}; }

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

TEST_CASE("offline_optimum counts what the use furthest from now leaving first would have moved") {
  // a b c a b c ... with room for two of three: one stays, the other two take turns.
  OfflineOptimum h;
  std::uint64_t operation = 0;
  for (int round = 0; round < 3; ++round)
    for (int block = 0; block < 3; ++block) h.on_device(key(block), 10, ++operation, Intent::read);
  CHECK(h.replay(3 * 256).in.transfers == 3);
  CHECK(h.replay(2 * 256).in.transfers == 6);  // abc, then b or c of each pair is there: 3 + 1 + 2 or 3 + 2 + 1
  CHECK(h.replay(256).in.transfers == 9);
  CHECK(h.replay(256).in.bytes == 9 * 80);
  CHECK(h.replay(256).out.transfers == 0);
}

TEST_CASE("offline_optimum knows what is written, what the host takes, what ends and what is shared") {
  OfflineOptimum h;
  h.on_device(key(0), 10, 1, Intent::write);
  h.on_device(key(1), 10, 2, Intent::write);
  h.on_host(key(0), Intent::read);
  h.ended(key(1));
  CHECK(h.replay(512).out.transfers == 1);
  CHECK(h.replay(512).in.transfers == 0);
  CHECK(h.replay(256).out.transfers == 1);  // the first was written back for the second: the host has it
  h.shared(key(0), key(2));
  h.on_device(key(2), 10, 3, Intent::read);
  CHECK(h.replay(512).in.transfers == 0);
  h.on_device(key(2), 10, 4, Intent::update);  // of its own from here
  h.on_device(key(0), 10, 4, Intent::read);
  CHECK(h.replay(512).in.transfers == 0);
  h.on_host(key(2), Intent::update);
  h.on_device(key(2), 10, 5, Intent::read);
  CHECK(h.replay(512).in.transfers == 1);
  CHECK(h.replay(512).out.transfers == 2);
  h.on_device(key(2, 2), 10, 6, Intent::read);  // the host's memory holds something else by now
  CHECK(h.replay(512).in.transfers == 2);
}
