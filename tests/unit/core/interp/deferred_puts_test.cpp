// Puts left for later: their order, who has to come before them, and how many there may be.
#include <catch2/catch.hpp>

#include <cstdint>

#include "runtime/core/interp/prefetch/deferred_puts.h"

using namespace sial;

namespace {

DeferredPut put(std::int32_t pc, std::int32_t array, std::int32_t segment, std::int64_t elements,
                const double* buffer = nullptr) {
  DeferredPut p;
  p.pc = pc;
  p.array = ArrayId(array);
  p.block.rank = 1;
  p.block.segment[0] = segment;
  p.source.buffer = buffer;
  p.source.buffer_size = elements;
  return p;
}
BlockIndex block(std::int32_t segment) { return put(0, 0, segment, 0).block; }

}  // namespace

TEST_CASE("puts leave in the order in which they came, and all before the last one of a block or a source") {
  DeferredPuts late(1 << 20);
  const double x = 0, y = 0, z = 0;
  CHECK(late.empty());
  CHECK(late.up_to(ArrayId(7), block(1)) == 0);
  late.add(put(10, 7, 1, 5, &x));
  late.add(put(11, 8, 1, 5, &y));
  late.add(put(12, 7, 1, 5, &x));
  late.add(put(13, 7, 2, 5, &y));
  CHECK(late.up_to(ArrayId(7), block(1)) == 3);
  CHECK(late.up_to(ArrayId(7), block(2)) == 4);
  CHECK(late.up_to(ArrayId(8), block(1)) == 2);
  CHECK(late.up_to(ArrayId(8), block(2)) == 0);
  CHECK(late.up_to(&x) == 3);
  CHECK(late.up_to(&y) == 4);
  CHECK(late.up_to(&z) == 0);
  late.record_under_way();
  late.record_under_way();
  CHECK(late.under_way() == 2);
  for (std::int32_t pc = 10; pc < 14; ++pc) CHECK(late.take().pc == pc);
  CHECK(late.empty());
  CHECK(late.under_way() == 0);
  CHECK(late.added() == 4);
}

TEST_CASE("sources of puts take an eighth of the device's memory, or 64 MiB, and puts are 256") {
  DeferredPuts small(8 * 800);
  CHECK(small.fits(800));
  CHECK(!small.fits(801));
  small.add(put(0, 0, 0, 60));
  CHECK(!small.full());
  small.add(put(1, 0, 0, 60));
  CHECK(small.full());
  small.take();
  CHECK(!small.full());

  DeferredPuts large(INT64_MAX);
  CHECK(large.fits(std::int64_t{64} << 20));
  CHECK(!large.fits((std::int64_t{64} << 20) + 1));
  for (std::size_t i = 0; i < DeferredPuts::max_puts; ++i) large.add(put(0, 0, 0, 0));
  CHECK(!large.full());
  large.add(put(0, 0, 0, 0));
  CHECK(large.full());
}
