// What statements ask for by name: transfers made early, memory reserved and evicted, and the same values as without.
#include "cache_fixture.h"

using namespace sial;
using namespace sial::cache_fixture;

TEST_CASE("a block prefetched to the device is there when it is used, and is copied once") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0), c = f.block(3, 2.0, 2);
  f.cache->hints().prefetch(b, f.statement);
  f.cache->hints().prefetch(c, f.statement);
  f.cache->hints().prefetch(b, f.statement);
  CHECK(f.made() == Counts{2, 0, 2, 0});
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::both);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
  f.work(ElementOp::add_scalar, 1.0, c, Intent::update);
  f.cache->hints().prefetch(b, f.statement);  // the device alone has it
  CHECK(f.value(b) == 2.0);
  CHECK(f.value(c, 2) == 3.0);
  CHECK(f.made() == Counts{2, 2, 2, 2});
  f.on_host(b, Intent::update);
  b.data[0] = 5.0;
  f.cache->hints().prefetch(b, f.statement);  // stale there
  f.work(ElementOp::scale, 2.0, b, Intent::update);
  CHECK(f.value(b) == 10.0);
  CHECK(f.made() == Counts{3, 3, 3, 3});
}

TEST_CASE("a block written back is on its way before the host asks, and goes on on the device") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0), other = f.block(4, 1.0);
  f.cache->hints().write_back(b.data, f.statement);  // the device knows nothing of it
  f.work(ElementOp::fill, 2.0, b, Intent::write);
  f.work(ElementOp::fill, 7.0, other, Intent::write);
  f.cache->hints().write_back(b.data, f.statement);
  f.cache->hints().write_back(b.data, f.statement);
  CHECK(f.made() == Counts{0, 1, 0, 0});
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::both);
  CHECK(f.cache->residency(other.buffer, other.data) == Residency::device);
  CHECK(f.value(b, 3) == 2.0);
  CHECK(f.made() == Counts{0, 1, 0, 1});
  f.cache->hints().write_back(b.data, f.statement);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
  f.cache->hints().write_back(b.data, f.statement);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);  // what was written back was for nothing
  CHECK(f.value(b) == 4.0);
  CHECK(f.made() == Counts{0, 3, 0, 2});
}

TEST_CASE("a block evicted leaves the device with nothing lost, whoever uses it next") {
  for (const bool on_host : {true, false}) {
    CAPTURE(on_host);
    Fixture f;
    const HostBlock b = f.block(4, 1.0), never = f.block(4, 1.0);
    f.cache->hints().evict(never.data, f.statement);
    f.work(ElementOp::fill, 2.0, b, Intent::write);
    const std::int64_t one = f.cache->device_memory().bytes_in_use;
    f.cache->hints().evict(b.data, f.statement);
    f.cache->hints().evict(b.data, f.statement);
    f.cache->complete_all();
    CHECK(one > 0);
    CHECK(f.cache->device_memory().bytes_in_use == 0);
    CHECK(f.cache->residency(b.buffer, b.data) == Residency::host);
    if (on_host) CHECK(f.value(b) == 2.0);
    f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
    CHECK(f.value(b, 3) == 3.0);
    CHECK(f.cache->stats().evictions == 0);
  }
}

TEST_CASE("a block that is evicted leaves others that have its values theirs") {
  Fixture f;
  const HostBlock b = f.block(8, 1.0), c = f.block(8, 0.0), d = f.block(8, 0.0);
  f.work(ElementOp::fill, 3.0, b, Intent::write);
  CHECK(f.value(b) == 3.0);
  std::copy_n(b.data, 8, c.data);
  f.cache->same_values(b.buffer, b.data, c.data, f.host.pool.content(c.data));
  f.cache->hints().evict(b.data, f.statement);
  f.sum(d, c, c, 1.0);
  CHECK(f.value(d) == 6.0);
  CHECK(f.made().front() == 0);
}

TEST_CASE("memory reserved for a block is what it gets, and is taken from what is wanted least") {
  DeviceOptions options;
  options.batch = GENERATE(0, 1000);  // where blocks take turns, too
  options.memory = 2 * 1024;
  Fixture f(options);
  const HostBlock a = f.block(100, 1.0), b = f.block(100, 2.0), c = f.block(100, 3.0), large = f.block(1000, 1.0);
  f.work(ElementOp::fill, 4.0, a, Intent::write);
  f.work(ElementOp::fill, 5.0, b, Intent::write);
  f.cache->hints().reserve(1000, f.statement);  // more than there is: nothing moves
  f.cache->hints().prefetch(large, f.statement);
  f.cache->hints().reserve(large, f.statement);
  CHECK(f.cache->stats().evictions == 0);
  f.cache->hints().reserve(c, f.statement);
  CHECK(f.cache->stats().evictions == 1);
  CHECK(f.cache->residency(c.buffer, c.data) == Residency::host);  // memory, no values
  f.work(ElementOp::add_scalar, 1.0, c, Intent::update);
  CHECK(f.cache->stats().evictions == 1);
  CHECK(f.value(c, 99) == 4.0);
  f.cache->hints().reserve(100, f.statement);  // for one that is not made yet
  CHECK(f.cache->stats().evictions == 2);
  const HostBlock d = f.block(100, 0.0);
  f.work(ElementOp::fill, 6.0, d, Intent::write);
  CHECK(f.cache->stats().evictions == 2);
  for (const auto& [block, v] : {std::pair(a, 4.0), std::pair(b, 5.0), std::pair(c, 4.0), std::pair(d, 6.0)})
    CHECK(f.value(block, 50) == v);
}

TEST_CASE("hints do not evict each other's blocks, nor what the last operation used") {
  DeviceOptions options;
  options.memory = 2 * 1024;
  Fixture f(options);
  const HostBlock a = f.block(100, 1.0), b = f.block(100, 2.0), c = f.block(100, 3.0);
  f.cache->hints().prefetch(a, f.statement);
  f.cache->hints().prefetch(b, f.statement);
  f.cache->hints().prefetch(c, f.statement);
  CHECK(f.made() == Counts{2, 0, 2, 0});
  CHECK(f.cache->residency(c.buffer, c.data) == Residency::host);
  f.work(ElementOp::add_scalar, 1.0, c, Intent::update);
  CHECK(f.value(c) == 4.0);
}
