// Blocks that leave for other nodes from the device: whole in its memory, or in pieces, whatever happens to the block
// behind their back.
#include "cache_fixture.h"

using namespace sial;
using namespace sial::cache_fixture;

namespace {

/// What a transport sees of a message, piece by piece as it says that they are there.
std::vector<double> received(OutgoingBlock& o, const double* from, std::int64_t n) {
  std::vector<double> values;
  while (static_cast<std::int64_t>(values.size()) < n) {
    const auto there = static_cast<std::int64_t>(o.ready() / 8);
    REQUIRE(there <= n);
    while (static_cast<std::int64_t>(values.size()) < there) values.push_back(from[values.size()]);
  }
  return values;
}

using Doubles = std::vector<double>;

}  // namespace

TEST_CASE("a block that only the device has is sent in its place, and nothing crosses to the host") {
  Fixture f;
  const HostBlock b = f.block(20, 1.0);
  f.work(ElementOp::fill, 3.0, b, Intent::write);
  const auto o = f.cache->outgoing().send(b.buffer, b.data, true, f.statement);
  REQUIRE(o);
  const double* there = o->in_place();
  REQUIRE(there);
  CHECK(o->piece() == 160);
  CHECK(received(*o, there, 20) == Doubles(20, 3.0));
  CHECK(f.made() == Counts{0, 0, 0, 0});
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::device);
  CHECK(f.cache->stats().sent_direct.transfers == 1);
  CHECK(f.cache->stats().sent_direct.bytes == 160);
  CHECK(f.cache->outgoing().send(b.buffer, b.data, true, f.statement));  // as often as one likes
}

TEST_CASE("a block is sent through the memory of its message in pieces, each when it has come") {
  for (const bool direct : {true, false}) {
    DeviceOptions options;
    options.direct = direct;
    Fixture f(options);
    const HostBlock b = f.block(23, 1.0), message = f.block(23, -1.0);
    f.work(ElementOp::fill, 3.0, b, Intent::write);
    {
      const auto o = f.cache->outgoing().send(b.buffer, b.data, false, f.statement);
      REQUIRE(o);
      CHECK(f.cache->outgoing().sends());
      CHECK(!o->in_place());
      o->copy_to(message.data);
      CHECK(o->piece() == 40);
      CHECK(received(*o, message.data, 23) == Doubles(23, 3.0));
    }
    CHECK(!f.cache->outgoing().sends());
    CHECK(f.made() == Counts{0, 1, 0, 1});  // one transfer, however many pieces
    CHECK(f.cache->stats().sent_pipelined.bytes == 184);
    CHECK(f.cache->residency(b.buffer, b.data) == Residency::device);
    CHECK(!f.cache->outgoing().send(b.buffer, b.data, false, f.statement));  // the second time the host keeps it
    CHECK(f.value(b) == 3.0);
    CHECK(f.made() == Counts{0, 2, 0, 1});  // had it been the first
    f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
    CHECK(f.cache->outgoing().send(b.buffer, b.data, false, f.statement));  // another value
  }
}

TEST_CASE("what the host has as well is sent by the host") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0), c = f.block(4, 1.0);
  f.read(b);
  CHECK(!f.cache->outgoing().send(b.buffer, b.data, true, f.statement));
  CHECK(!f.cache->outgoing().send(c.buffer, c.data, true, f.statement));
  f.work(ElementOp::fill, 3.0, c, Intent::write);
  f.cache->hints().write_back(c.data, f.statement);
  CHECK(!f.cache->outgoing().send(c.buffer, c.data, true, f.statement));
}

TEST_CASE("a message keeps the values that the block had, whatever becomes of it") {
  for (const bool direct : {true, false})
    for (int what = 0; what < 6; ++what) {
      CAPTURE(direct, what);
      DeviceOptions options;
      options.memory = 4 * 1024;
      options.seed = static_cast<std::uint64_t>(what) + 1;
      Fixture f(options);
      const HostBlock b = f.block(100, 1.0), message = f.block(100, -1.0), c = f.block(100, 2.0), d = f.block(100, 2.0);
      f.work(ElementOp::fill, 3.0, b, Intent::write);
      auto o = f.cache->outgoing().send(b.buffer, b.data, direct, f.statement);
      REQUIRE(o);
      const double* from = o->in_place();
      CHECK((from != nullptr) == direct);
      if (!from) o->copy_to(message.data), from = message.data;
      double of_b = 3.0;
      switch (what) {
        case 0: f.work(ElementOp::scale, 2.0, b, Intent::update), of_b = 6.0; break;
        case 1: f.work(ElementOp::fill, 5.0, b, Intent::write), of_b = 5.0; break;
        case 2: f.on_host(b, Intent::write), std::fill_n(b.data, 100, of_b = 7.0); break;
        case 3: f.cache->hints().evict(b.data, f.statement); break;
        case 4: f.free(b); break;
        default: break;
      }
      for (int i = 0; i < 5; ++i) {  // others want its memory
        f.work(ElementOp::fill, 8.0 + i, c, Intent::write);
        f.work(ElementOp::fill, 9.0 + i, d, Intent::write);
        f.cache->hints().evict(c.data, f.statement);
      }
      CHECK(received(*o, from, 100) == Doubles(100, 3.0));
      if (what != 4) CHECK(f.value(b, 99) == of_b);
      o.reset();
      f.cache->complete_all();
      if (what == 4) f.free(c), f.free(d);
      if (what == 4) CHECK(f.cache->device_memory().bytes_in_use == 0);
    }
}

TEST_CASE("messages hold a part of a small device's memory in place, and no more") {
  DeviceOptions options;
  options.memory = 8 * 1024;
  Fixture f(options);
  std::vector<HostBlock> blocks;
  std::vector<std::unique_ptr<OutgoingBlock>> messages;
  const HostBlock to = f.block(100, 0.0);
  int direct = 0;
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(f.block(100, 0.0));
    f.work(ElementOp::fill, i, blocks.back(), Intent::write);
    messages.push_back(f.cache->outgoing().send(blocks.back().buffer, blocks.back().data, true, f.statement));
    REQUIRE(messages.back());
    if (messages.back()->in_place()) ++direct;
    else messages.back()->copy_to(to.data), messages.back()->complete();
  }
  CHECK(direct == 2);
  messages.clear();
  f.work(ElementOp::fill, 1.0, blocks[0], Intent::write);
  CHECK(f.cache->outgoing().send(blocks[0].buffer, blocks[0].data, true, f.statement)->in_place());
}

TEST_CASE("a message that outlives the device's memory has all its pieces") {
  Fixture f;
  const HostBlock b = f.block(20, 1.0), message = f.block(20, -1.0);
  f.work(ElementOp::fill, 3.0, b, Intent::write);
  const auto o = f.cache->outgoing().send(b.buffer, b.data, false, f.statement);
  o->copy_to(message.data);
  f.cache.reset();
  CHECK(o->ready() == 160);
  CHECK(Doubles(message.data, message.data + 20) == Doubles(20, 3.0));
}

TEST_CASE("a message that is abandoned begins nothing, or ends what it has begun") {
  Fixture f;
  const HostBlock b = f.block(20, 1.0), message = f.block(20, -1.0);
  f.work(ElementOp::fill, 3.0, b, Intent::write);
  f.cache->outgoing().send(b.buffer, b.data, true, f.statement).reset();
  f.work(ElementOp::fill, 4.0, b, Intent::write);
  auto o = f.cache->outgoing().send(b.buffer, b.data, false, f.statement);
  o->copy_to(message.data);
  o.reset();
  CHECK(message.data[19] == 4.0);  // memory that the message gives back is not written any more
  CHECK(!f.cache->outgoing().sends());
  f.free(b);
  CHECK(f.cache->device_memory().bytes_in_use == 0);
}
