// Blocks of other nodes received in the device's memory: what the device and the host then have, and what becomes of
// places that nothing comes to.
#include "cache_fixture.h"

using namespace sial;
using namespace sial::cache_fixture;

namespace {

struct Receiving : Fixture {
  explicit Receiving(DeviceOptions options = {}) : Fixture(options) {}
  HostBlock fetched(std::int64_t n, double value) {
    HostBlock b = block(n, value);
    b.fetched = true;
    return b;
  }
  /// As a transport and a store do. False: it has to go by the host.
  bool receive(const HostBlock& b, double value) {
    const auto incoming = cache->incoming().receive_direct(b);
    if (!incoming) return false;
    std::fill_n(incoming->place(), b.size(), value);
    incoming->arrived();
    return true;
  }
  std::int64_t in_use() const { return cache->device_memory().bytes_in_use; }
  std::int64_t received() const { return cache->stats().received_direct.transfers; }
};

}  // namespace

TEST_CASE("a block that is received on the device is used there without a transfer") {
  Receiving f;
  const HostBlock b = f.fetched(20, -1.0), t = f.block(20, 0.0);
  REQUIRE(f.receive(b, 2.0));
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::device);
  f.sum(t, b, b, 1.0);
  f.sum(t, t, b, 1.0, Intent::update);
  CHECK(f.value(t) == 6.0);
  CHECK(f.made() == Counts{0, 1, 0, 1});
  CHECK(f.received() == 1);
  CHECK(f.cache->stats().received_direct.bytes == 160);
  CHECK(f.cache->stats().ahead.transfers == 0);
  CHECK(f.cache->stats().ahead_used.transfers == 0);
}

TEST_CASE("the host has a block that was received on the device when it asks for it, once") {
  for (const bool direct : {true, false}) {
    DeviceOptions options;
    options.direct = direct;
    Receiving f(options);
    const HostBlock b = f.fetched(20, -1.0);
    REQUIRE(f.receive(b, 2.0));
    CHECK(f.value(b, 19) == 2.0);
    CHECK(f.value(b) == 2.0);
    CHECK(f.cache->residency(b.buffer, b.data) == Residency::both);
    CHECK(f.made() == Counts{0, 1, 0, 1});
    f.on_host(b, Intent::update);
    b.data[0] = 7.0;
    f.work(ElementOp::scale, 2.0, b, Intent::update);
    CHECK(f.value(b) == 14.0);
    CHECK(f.value(b, 1) == 4.0);
  }
}

TEST_CASE("what was received goes to the host when the device evicts it, for lack of memory or on a hint") {
  Receiving f(with_memory(16 * 256));
  const HostBlock b = f.fetched(20, -1.0);
  REQUIRE(f.receive(b, 2.0));
  std::vector<HostBlock> more;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 16; ++i) {
      if (round == 0) more.push_back(f.block(20, i));
      f.work(ElementOp::add_scalar, 1.0, more[static_cast<std::size_t>(i)], Intent::update);
    }
  CHECK(f.cache->stats().evictions > 0);
  CHECK(f.value(b) == 2.0);
  const HostBlock c = f.fetched(20, -1.0);
  Receiving g;
  const HostBlock d = g.fetched(20, -1.0);
  REQUIRE(g.receive(d, 3.0));
  g.cache->hints().evict(d.data, g.statement);
  CHECK(g.in_use() == 0);
  CHECK(g.value(d) == 3.0);
  f.free(c);
}

TEST_CASE("a place that nothing comes to is given back") {
  Receiving f;
  const HostBlock b = f.fetched(20, 5.0);
  {
    const auto incoming = f.cache->incoming().receive_direct(b);
    REQUIRE(incoming);
    CHECK(f.in_use() == 256);
    incoming->place()[0] = -7.0;  // part of it had come
  }
  CHECK(f.in_use() == 0);
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::host);
  CHECK(f.value(b) == 5.0);
  CHECK(f.received() == 0);
}

TEST_CASE("a value that the store drops leaves the device, too; the next one counts") {
  Receiving f;
  HostBlock b = f.fetched(20, -1.0);
  REQUIRE(f.receive(b, 2.0));
  f.read(b);
  f.cache->complete_all();
  f.host.pool.deallocate(b.data, 20);  // the device is not told
  const double* before = b.data;
  b = f.fetched(20, 4.0);
  REQUIRE(b.data == before);
  CHECK(f.value(b) == 4.0);
  REQUIRE(f.receive(b, 6.0));
  CHECK(f.value(b) == 6.0);
  f.host.heap.changed(Chunk::of(b.data));
  f.cache->sweep();
  CHECK(f.in_use() == 0);
}

TEST_CASE(
    "only a share of the device's memory is taken for what is received and not used, and less when the host uses it") {
  Receiving f(with_memory(64 * 256));  // four blocks
  std::vector<HostBlock> b;
  for (int i = 0; i < 8; ++i) b.push_back(f.fetched(32, -1.0));
  for (int i = 0; i < 4; ++i) CHECK(f.receive(b[static_cast<std::size_t>(i)], i));
  CHECK(!f.receive(b[4], 4.0));
  f.read(b[0]);
  CHECK(f.receive(b[4], 4.0));
  CHECK(f.value(b[1]) == 1.0);  // half of the four that there are, from now on
  CHECK(!f.receive(b[5], 5.0));
  f.read(b[2]);
  f.read(b[3]);
  CHECK(f.receive(b[5], 5.0));
  CHECK(!f.receive(b[6], 6.0));
  for (int i : {0, 2, 3, 4, 5}) CHECK(f.value(b[static_cast<std::size_t>(i)]) == i);
}

TEST_CASE("nothing is received in memory that the device still works on, nor waited for") {
  Receiving f(with_memory(16 * 256));
  for (int i = 0; i < 15; ++i) f.work(ElementOp::fill, i, f.block(20, 0.0), Intent::write);
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const HostBlock t = f.block(20, 1.0), b = f.fetched(20, -1.0);
    f.work(ElementOp::add_scalar, 1.0, t, Intent::update);
    f.work(ElementOp::add_scalar, 1.0, t, Intent::update);
    f.cache->invalidate(t.buffer, 20);  // the only memory that is free, and work on it may be under way
    if (f.receive(b, i)) {
      f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
      CHECK(f.value(b, 19) == i + 1.0);
    } else {
      ++refused;
    }
    f.free(b);
    f.cache->complete(t.data);
    f.free(t);
  }
  CHECK(refused > 0);
  CHECK(f.received() == 100 - refused);
  CHECK(f.received() > 0);
}
