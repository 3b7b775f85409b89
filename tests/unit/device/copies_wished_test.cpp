// What statements ask for by name: transfers made early, memory reserved and given up, and the same values as without.
#include "copies_fixture.h"

using namespace sial;
using namespace sial::copies_fixture;

TEST_CASE("a block brought to the device is there when it is used, and is brought once") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0), c = f.block(3, 2.0, 2);
  f.copies->bring(b);
  f.copies->bring(c);
  f.copies->bring(b);
  CHECK(f.made() == Counts{2, 0, 2, 0});
  CHECK(f.copies->where(b.buffer, b.data) == DeviceBlockCache::Where::both);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
  f.work(ElementOp::add_scalar, 1.0, c, Intent::update);
  f.copies->bring(b);  // the device alone has it
  CHECK(f.value(b) == 2.0);
  CHECK(f.value(c, 2) == 3.0);
  CHECK(f.made() == Counts{2, 2, 2, 2});
  f.on_host(b, Intent::update);
  b.data[0] = 5.0;
  f.copies->bring(b);  // stale there
  f.work(ElementOp::scale, 2.0, b, Intent::update);
  CHECK(f.value(b) == 10.0);
  CHECK(f.made() == Counts{3, 3, 3, 3});
}

TEST_CASE("a block brought back is on its way before the host asks, and goes on on the device") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0), other = f.block(4, 1.0);
  f.copies->bring_back(b.data);  // the device knows nothing of it
  f.work(ElementOp::fill, 2.0, b, Intent::write);
  f.work(ElementOp::fill, 7.0, other, Intent::write);
  f.copies->bring_back(b.data);
  f.copies->bring_back(b.data);
  CHECK(f.made() == Counts{0, 1, 0, 0});
  CHECK(f.copies->where(b.buffer, b.data) == DeviceBlockCache::Where::both);
  CHECK(f.copies->where(other.buffer, other.data) == DeviceBlockCache::Where::device);
  CHECK(f.value(b, 3) == 2.0);
  CHECK(f.made() == Counts{0, 1, 0, 1});
  f.copies->bring_back(b.data);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
  f.copies->bring_back(b.data);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);  // what was brought back was for nothing
  CHECK(f.value(b) == 4.0);
  CHECK(f.made() == Counts{0, 3, 0, 2});
}

TEST_CASE("a block given up leaves the device with nothing lost, whoever uses it next") {
  for (const bool on_host : {true, false}) {
    CAPTURE(on_host);
    Fixture f;
    const HostBlock b = f.block(4, 1.0), never = f.block(4, 1.0);
    f.copies->give_up(never.data);
    f.work(ElementOp::fill, 2.0, b, Intent::write);
    const std::int64_t one = f.copies->device_memory().bytes_in_use;
    f.copies->give_up(b.data);
    f.copies->give_up(b.data);
    f.copies->settle_all();
    CHECK(one > 0);
    CHECK(f.copies->device_memory().bytes_in_use == 0);
    CHECK(f.copies->where(b.buffer, b.data) == DeviceBlockCache::Where::host);
    if (on_host) CHECK(f.value(b) == 2.0);
    f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
    CHECK(f.value(b, 3) == 3.0);
    CHECK(f.copies->stats().evictions == 0);
  }
}

TEST_CASE("given up with others that have its values, a block leaves them theirs") {
  Fixture f;
  const HostBlock b = f.block(8, 1.0), c = f.block(8, 0.0), d = f.block(8, 0.0);
  f.work(ElementOp::fill, 3.0, b, Intent::write);
  CHECK(f.value(b) == 3.0);
  std::copy_n(b.data, 8, c.data);
  f.copies->same_values(b.buffer, b.data, c.data, f.host.pool.content(c.data));
  f.copies->give_up(b.data);
  f.sum(d, c, c, 1.0);
  CHECK(f.value(d) == 6.0);
  CHECK(f.made().front() == 0);
}

TEST_CASE("room made for a block is what it gets, and takes it from what is wanted least") {
  DeviceOptions options;
  options.batch = GENERATE(0, 1000);  // where blocks take turns, too
  options.memory = 2 * 1024;
  Fixture f(options);
  const HostBlock a = f.block(100, 1.0), b = f.block(100, 2.0), c = f.block(100, 3.0), large = f.block(1000, 1.0);
  f.work(ElementOp::fill, 4.0, a, Intent::write);
  f.work(ElementOp::fill, 5.0, b, Intent::write);
  f.copies->make_room(1000);  // more than there is: nothing moves
  f.copies->bring(large);
  f.copies->make_room(large);
  CHECK(f.copies->stats().evictions == 0);
  f.copies->make_room(c);
  CHECK(f.copies->stats().evictions == 1);
  CHECK(f.copies->where(c.buffer, c.data) == DeviceBlockCache::Where::host);  // memory, no values
  f.work(ElementOp::add_scalar, 1.0, c, Intent::update);
  CHECK(f.copies->stats().evictions == 1);
  CHECK(f.value(c, 99) == 4.0);
  f.copies->make_room(100);  // for one that is not made yet
  CHECK(f.copies->stats().evictions == 2);
  const HostBlock d = f.block(100, 0.0);
  f.work(ElementOp::fill, 6.0, d, Intent::write);
  CHECK(f.copies->stats().evictions == 2);
  for (const auto& [block, v] : {std::pair(a, 4.0), std::pair(b, 5.0), std::pair(c, 4.0), std::pair(d, 6.0)})
    CHECK(f.value(block, 50) == v);
}

TEST_CASE("wishes do not push each other out, nor what the last operation used") {
  DeviceOptions options;
  options.memory = 2 * 1024;
  Fixture f(options);
  const HostBlock a = f.block(100, 1.0), b = f.block(100, 2.0), c = f.block(100, 3.0);
  f.copies->bring(a);
  f.copies->bring(b);
  f.copies->bring(c);
  CHECK(f.made() == Counts{2, 0, 2, 0});
  CHECK(f.copies->where(c.buffer, c.data) == DeviceBlockCache::Where::host);
  f.work(ElementOp::add_scalar, 1.0, c, Intent::update);
  CHECK(f.value(c) == 4.0);
}
