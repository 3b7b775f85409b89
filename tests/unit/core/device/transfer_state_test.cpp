// Values that come to the host without anybody waiting for them: from when their work is started, and without work
// being started for them.
#include "cache_fixture.h"

using namespace sial;
using namespace sial::cache_fixture;

namespace {

DeviceOptions batching(std::uint64_t seed = 1) {
  DeviceOptions options;
  options.batch = 1000;
  options.seed = seed;
  return options;
}

/// Looks until it is there.
void await(Fixture& f, const HostBlock& b) {
  for (int looks = 0; f.cache->poll_transfer(b.buffer, b.data, f.statement) != TransferState::complete; ++looks)
    REQUIRE(looks < 10000);
}

}  // namespace

TEST_CASE("a block whose work waits for its like does not come before that is started, and nothing is started for it") {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    Fixture f(batching(seed));
    const HostBlock a = f.block(20, 1.0), b = f.block(20, 1.0), c = f.block(30, 1.0);
    f.work(ElementOp::fill, 3.0, a, Intent::write);
    f.work(ElementOp::fill, 3.0, b, Intent::write);
    for (int i = 0; i < 100; ++i) {
      REQUIRE(f.cache->poll_transfer(a.buffer, a.data, f.statement) == TransferState::not_started);
      REQUIRE(!f.cache->work_started(b.buffer, b.data));
    }
    CHECK(f.cache->statistics().starts() == 0);
    CHECK(f.value(a) == 3.0);  // who asks for it has it, and what waits in its company
    CHECK(f.cache->statistics().starts() == 1);
    CHECK(f.cache->work_started(b.buffer, b.data));
    f.work(ElementOp::fill, 4.0, c, Intent::write);  // waits, now and while b comes
    await(f, b);
    CHECK(f.cache->statistics().starts() == 1);
    CHECK(f.cache->poll_transfer(c.buffer, c.data, f.statement) == TransferState::not_started);
    CHECK(f.made() == Counts{0, 2, 0, 1});  // among the least is what the host has looked at
    CHECK(b.data[19] == 3.0);
    CHECK(f.value(b) == 3.0);
    CHECK(f.made() == Counts{0, 2, 0, 2});
    CHECK(f.value(c) == 4.0);
    CHECK(f.cache->statistics().starts() == 2);
  }
}

TEST_CASE("what the host has, and what the device knows nothing of, is here") {
  Fixture f(batching());
  const HostBlock a = f.block(20, 1.0), b = f.block(20, 2.0);
  CHECK(f.cache->poll_transfer(a.buffer, a.data, f.statement) == TransferState::complete);
  f.read(b);
  await(f, b);
  CHECK(f.cache->work_started(b.buffer, b.data));
  f.work(ElementOp::scale, 3.0, b, Intent::update);
  CHECK(f.cache->poll_transfer(b.buffer, b.data, f.statement) == TransferState::not_started);
  f.on_host(b, Intent::write);
  await(f, b);
  CHECK(f.made() == Counts{1, 0, 1, 0});
}

TEST_CASE("what comes without waiting is what was computed, in whatever order the device goes on") {
  for (const bool direct : {true, false})
    for (const std::int64_t batch : {0, 1000})
      for (std::uint64_t seed = 1; seed < 30; ++seed) {
        CAPTURE(direct, batch, seed);
        DeviceOptions options = batching(seed);
        options.batch = batch;
        options.direct = direct;
        options.memory = 8 * 1024;
        Fixture f(options);
        std::vector<HostBlock> blocks;
        for (int i = 0; i < 30; ++i) {  // more than the device has memory for
          blocks.push_back(f.block(50, -1.0));
          f.work(ElementOp::fill, i, blocks.back(), Intent::write);
          f.work(ElementOp::scale, 2.0, blocks.back(), Intent::update);
          for (const HostBlock& b : blocks) f.cache->poll_transfer(b.buffer, b.data, f.statement);
        }
        CHECK(f.value(blocks.back()) == 58.0);  // has all of it started
        for (int i = 0; i < 30; ++i) {
          await(f, blocks[static_cast<std::size_t>(i)]);
          CHECK(blocks[static_cast<std::size_t>(i)].data[49] == 2.0 * i);
        }
        CHECK(f.made() == Counts{0, 30, 0, 1});
      }
}
