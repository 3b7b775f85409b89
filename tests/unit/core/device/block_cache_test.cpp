// Validity of copies and the transfers that follow, by the intents of operations; eviction; host memory that copies
// need.

#include <cmath>
#include <random>

#include "runtime/core/base/error.h"
#include "tests/unit/core/device/altered_device.h"
#include "tests/unit/core/device/cache_fixture.h"

using namespace sial;
using namespace sial::cache_fixture;

namespace {

/// A device that has no memory for what element-wise work needs beside its operands.
class Crowded final : public AlteredDevice {
 public:
  using AlteredDevice::AlteredDevice;
  using AlteredDevice::run;
  void run(int /*stream*/, const MutableView& /*target*/, std::span<const kernels::FusedStep> /*steps*/) override {
    throw DeviceFull{8};
  }
};

}  // namespace

TEST_CASE("a block that is read is copied in once") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0);
  f.read(b);
  f.read(b);
  CHECK(f.value(b) == 1.0);
  CHECK(f.made() == Counts{1, 0, 1, 0});
  CHECK(f.cache->stats().total().in_unoptimized.transfers == 2);
  CHECK(f.cache->stats().total().out_unoptimized.transfers == 2);
  CHECK(f.cache->stats().total().in_unoptimized.bytes == 64);
}

TEST_CASE("a block that is replaced is not copied in, and copied out only when the host wants it") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0);
  f.work(ElementOp::fill, 2.0, b, Intent::write);
  f.work(ElementOp::scale, 3.0, b, Intent::update);
  CHECK(f.made() == Counts{0, 0, 0, 0});
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::device);
  CHECK(f.value(b) == 6.0);
  CHECK(f.value(b, 3) == 6.0);
  CHECK(f.made() == Counts{0, 1, 0, 1});
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::both);
  f.read(b);  // still valid there
  CHECK(f.made() == Counts{0, 1, 0, 1});
}

TEST_CASE("a transfer is counted at the statement that it is for") {
  Fixture f(with_memory(256));  // one block
  const HostBlock b = f.block(4, 1.0), c = f.block(4, 1.0);
  const auto at = [&](std::int32_t pc) -> const TransferRow& { return f.cache->stats().rows.at({pc, ArrayId(0)}); };
  f.statement = {5};
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
  f.statement = {6};
  f.read(c);  // evicts b, which is written back
  CHECK(at(5).in.transfers == 1);
  CHECK(at(5).out.transfers == 0);
  CHECK(at(6).in.transfers == 1);
  CHECK(at(6).out.transfers == 1);
  f.statement = {7};
  CHECK(f.value(b) == 2.0);
  CHECK(at(7).out.transfers == 0);
  CHECK(at(7).out_lower_bound.transfers == 1);
}

TEST_CASE("what is stale, and what was never given a value, is NaN") {
  Fixture f;
  const HostBlock b = f.block(4, 1.0), c = f.block(4, 1.0);
  f.work(ElementOp::fill, 2.0, b, Intent::write);
  f.cache->complete_all();
  CHECK(std::isnan(b.data[0]));                     // the host's copy is stale
  f.work(ElementOp::scale, 1.0, c, Intent::write);  // claims to replace, and reads
  CHECK(std::isnan(f.value(c)));
}

TEST_CASE("a block that is updated is copied in, and either side's write makes the other's copy stale") {
  Fixture f;
  const HostBlock b = f.block(2, 1.0);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
  f.on_host(b, Intent::update);
  CHECK(b.data[0] == 2.0);
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::host);
  b.data[0] = 9.0;
  f.work(ElementOp::scale, 2.0, b, Intent::update);
  CHECK(f.value(b) == 18.0);
  CHECK(f.made() == Counts{2, 2, 2, 2});
  f.work(ElementOp::fill, 5.0, b, Intent::write);
  f.on_host(b, Intent::write);  // the host replaces it: nothing to copy out
  b.data[0] = 7.0;
  CHECK(f.made() == Counts{2, 2, 2, 2});
  f.work(ElementOp::scale, 1.0, b, Intent::update);
  CHECK(f.value(b) == 7.0);
}

TEST_CASE("a block in a larger array travels without its surroundings") {
  Fixture f;
  const HostBlock b = f.block(3, 1.0, 2);
  b.data[1] = b.data[3] = -2.0;
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
  f.cache->buffer_on_host(b.buffer, b.buffer_size, Intent::read, f.statement);
  CHECK(b.data[0] == 2.0);
  CHECK(b.data[4] == 2.0);
  CHECK(b.data[1] == -2.0);
  CHECK(b.data[3] == -2.0);
  CHECK(f.cache->stats().total().out.bytes == 24);
}

TEST_CASE("memory that holds something else by now is another block, even at the same address") {
  Fixture f;
  const HostBlock b = f.block(2, 1.0);
  f.work(ElementOp::fill, 5.0, b, Intent::write);
  f.cache->complete_all();
  f.host.pool.deallocate(b.data, 2);  // ends without a word
  const HostBlock again = f.block(2, 8.0);
  REQUIRE(again.data == b.data);
  f.work(ElementOp::add_scalar, 1.0, again, Intent::update);
  CHECK(f.value(again) == 9.0);
  f.read(again);
  again.data[0] = 4.0;  // by somebody else, who says so
  f.host.heap.changed(Chunk::of(again.data));
  f.work(ElementOp::add_scalar, 1.0, again, Intent::update);
  CHECK(f.value(again) == 5.0);
}

TEST_CASE("device memory of blocks that ended without a word is swept up, that of others stays") {
  Fixture f;
  const HostBlock b = f.block(2, 1.0), c = f.block(2, 2.0);
  f.read(b);
  f.read(c);
  f.cache->complete_all();
  const std::int64_t two = f.cache->device_memory().bytes_in_use;
  f.host.pool.deallocate(b.data, 2);
  const HostBlock again = f.block(2, 3.0);
  REQUIRE(again.data == b.data);
  f.cache->sweep();
  CHECK(f.cache->device_memory().bytes_in_use == two / 2);
  f.read(c);
  CHECK(f.made() == Counts{2, 0, 2, 0});
}

TEST_CASE("what the device wrote of a block that ended without a word is not written back when it is evicted") {
  DeviceOptions options;
  options.memory = 1024;
  Fixture f(options);
  const HostBlock b = f.block(100, 1.0), c = f.block(100, 3.0);
  f.work(ElementOp::fill, 5.0, b, Intent::write);
  f.cache->complete_all();
  f.host.pool.deallocate(b.data, 100);
  f.read(c);
  CHECK(f.cache->stats().total().out.transfers == 0);
}

TEST_CASE("blocks that share memory share the device's copy") {
  Fixture f;
  const HostBlock b = f.block(2, 1.0);
  f.read(b);
  REQUIRE(f.host.pool.share(b.data));  // as a put without a copy does
  const HostBlock lease = b;
  f.read(lease);
  CHECK(f.made() == Counts{1, 0, 1, 0});
  f.host.pool.deallocate(b.data, 2);
}

TEST_CASE("a copy that the host made of a block has the device's values, until either is written") {
  for (int who = 0; who < 4; ++who) {
    CAPTURE(who);
    Fixture f;
    const HostBlock b = f.block(8, 1.0), c = f.block(8, 0.0), d = f.block(8, 0.0);
    f.work(ElementOp::fill, 3.0, b, Intent::write);
    CHECK(f.value(b) == 3.0);
    std::copy_n(b.data, 8, c.data);  // a put
    f.cache->same_values(b.buffer, b.data, c.data, f.host.pool.content(c.data));
    f.sum(d, c, c, 1.0);
    CHECK(f.made() == Counts{0, 1, 0, 1});
    double of_b = 3.0, of_c = 3.0;
    switch (who) {
      case 0: f.work(ElementOp::scale, 2.0, b, Intent::update), of_b = 6.0; break;
      case 1: f.work(ElementOp::fill, 5.0, c, Intent::write), of_c = 5.0; break;
      case 2: f.on_host(b, Intent::write), std::fill_n(b.data, 8, of_b = 7.0); break;
      default: f.free(b); break;
    }
    f.sum(d, c, d, 0.0, Intent::update);
    CHECK(f.value(d, 7) == of_c);
    CHECK(f.value(c, 7) == of_c);
    if (who == 3) continue;
    f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
    CHECK(f.value(b, 7) == of_b + 1.0);
    CHECK(f.value(c, 7) == of_c);
  }
}

TEST_CASE("a block that ends is not copied out") {
  Fixture f;
  const HostBlock b = f.block(2, 1.0);
  f.work(ElementOp::fill, 5.0, b, Intent::write);
  f.free(b);
  f.cache->all_on_host(f.statement);
  CHECK(f.made() == Counts{0, 0, 0, 0});
}

TEST_CASE("the least counts what the host made once, and nothing that only went through a put and a get") {
  Fixture f;
  HostBlock b = f.block(2, 1.0), c = f.block(2, 1.0);
  c.fetched = true;
  f.read(b);
  f.read(c);  // the same values
  CHECK(f.made() == Counts{2, 0, 1, 0});
  f.on_host(b, Intent::update);  // makes what it was before
  f.read(b);
  CHECK(f.made() == Counts{3, 0, 2, 0});
  f.work(ElementOp::fill, 1.0, c, Intent::write);
  CHECK(f.value(c) == 1.0);
  CHECK(f.made() == Counts{3, 1, 2, 1});
}

TEST_CASE("blocks that come back in turns stay as far as there is memory: what is due last is evicted") {
  DeviceOptions options;
  options.memory = 4 * 1024;
  Fixture f(options);
  std::vector<HostBlock> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(f.block(100, i));
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round)
    for (const HostBlock& b : blocks) f.read(b);
  // The least recently used one leaving would move six in each round. Furthest first: five operations, two of them.
  CHECK(f.cache->stats().total().in.transfers <= 6 + 3 * (rounds - 1) + 6);
}

TEST_CASE(
    "a temp whose memory was transferred to an array is wanted when the array's blocks are, not when the temp was") {
  const auto transfers = [](bool told) {
    DeviceOptions options;
    options.memory = 6 * 1024;
    Fixture f(options);
    std::vector<HostBlock> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(f.block(100, i));
    for (int phase = 0; phase < 6; ++phase) {
      for (const HostBlock& b : blocks) {
        f.statement = {1};
        f.work(ElementOp::fill, 1.0, b, Intent::write);
        for (int k = 0; k < 4; ++k) f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
        f.on_host(b, Intent::read);
        f.statement = {2};
        if (told) f.cache->transfer_ownership(b.buffer, b.data, f.statement);
      }
      f.statement = {3};
      for (const HostBlock& b : blocks) f.read(b);
    }
    for (const HostBlock& b : blocks) CHECK(f.value(b) == 5.0);
    return f.cache->stats().total().in.transfers;
  };
  const std::int64_t told = transfers(true), untold = transfers(false);
  CHECK(told < untold);
  CHECK(told <= 6 * 4);  // two or three of eight blocks have no memory
}

TEST_CASE("a full device writes back what it evicts, and evicts no operand of the operation") {
  DeviceOptions options;
  options.memory = 3 * 1024;
  for (const bool direct : {true, false}) {
    CAPTURE(direct);
    options.direct = direct;
    Fixture f(options);
    std::vector<HostBlock> blocks;
    for (int i = 0; i < 6; ++i) blocks.push_back(f.block(100, i));
    for (const HostBlock& b : blocks) f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
    CHECK(f.cache->stats().evictions == 3);
    CHECK(f.cache->stats().total().out.transfers == 3);
    for (int i = 0; i < 6; ++i) CHECK(f.value(blocks[i], 99) == i + 1);
    CHECK(f.cache->stats().total().out.transfers == 6);
    f.sum(blocks[0], blocks[1], blocks[2], 10.0);
    CHECK(f.value(blocks[0]) == 2.0 + 10.0 * 3.0);
    const HostBlock large = f.block(300, 1.0);
    f.cache->operations().begin();
    f.cache->operations().operand(blocks[0], Intent::read, f.statement);
    CHECK_THROWS_AS(f.cache->operations().operand(large, Intent::read, f.statement), DeviceFull);
    f.cache->operations().end();
    f.work(ElementOp::add_scalar, 2.0, large, Intent::update);  // alone it fits
    CHECK(f.value(large, 299) == 3.0);
    CHECK(f.value(blocks[0]) == 32.0);
  }
}

TEST_CASE("host memory is not used again before the copies from and to it are done") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DeviceOptions options;
    options.seed = seed;
    options.batch = seed % 2 == 0 ? 1000 : 0;
    Fixture f(options);
    const HostBlock target = f.block(64, 0.0);
    for (int i = 1; i <= 10; ++i) {
      const HostBlock b = f.block(64, i);
      f.sum(target, b, target, 1.0, Intent::update);
      f.free(b);  // the next block would lie there
    }
    CHECK(f.value(target, 63) == 55.0);
  }
}

TEST_CASE(
    "random work on a device gives what the host gives, whatever the order of streams and however little memory there is") {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const std::int64_t memory : {0, 16 * 256, 5 * 256}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(memory, seed);
      DeviceOptions options;
      options.memory = memory;
      options.seed = seed;
      options.streams = 1 + static_cast<int>(seed % 4);
      options.direct = seed % 3 != 0;
      options.batch =
          seed > 10 ? seed % 2 == 0 ? 1000 : 40 : 0;  // small work waits for its like, or what has no two sources
      Fixture f(options);
      constexpr int n = 12;
      std::vector<HostBlock> blocks;
      std::vector<double> expected;
      for (int i = 0; i < n; ++i) {
        blocks.push_back(f.block(20, i, 1 + i % 2));
        expected.push_back(i);
      }
      for (int step = 0; step < 400; ++step) {
        const int d = below(n), a = below(n), b = below(n);
        switch (below(9)) {
          case 0:
          case 1:
          case 2:
            if (d == a || d == b) break;
            f.sum(blocks[d], blocks[a], blocks[b], -0.5);
            expected[d] = expected[a] - 0.5 * expected[b];
            break;
          case 3:
            f.work(ElementOp::scale, 0.5, blocks[d], Intent::update);
            expected[d] *= 0.5;
            break;
          case 4:
            f.work(ElementOp::fill, step, blocks[d], Intent::write);
            expected[d] = step;
            break;
          case 5:
            f.on_host(blocks[d], Intent::update);
            for (std::int64_t i = 0; i < 20; ++i) blocks[d].data[i * blocks[d].stride[0]] += 1.0;
            expected[d] += 1.0;
            break;
          case 6:
            f.free(blocks[d]);
            blocks[d] = f.block(20, step, 1 + below(2));
            expected[d] = step;
            break;
          case 7: {
            if (a == d || blocks[d].stride[0] != 1) break;
            const double x = f.value(blocks[a], 3);
            f.on_host(blocks[d], Intent::write);
            f.cache->invalidate(blocks[d].buffer, blocks[d].buffer_size);
            std::fill_n(blocks[d].data, 20, x);
            f.host.heap.changed(Chunk::of(blocks[d].data));
            f.cache->same_values(blocks[a].buffer, blocks[a].data, blocks[d].data, f.host.pool.content(blocks[d].data));
            expected[d] = x;
            break;
          }
          default: REQUIRE(f.value(blocks[d], 19) == expected[d]);
        }
      }
      for (int i = 0; i < n; ++i) REQUIRE(f.value(blocks[i], 7) == expected[i]);
    }
  }
}

TEST_CASE("values that are shared are given back when the last one lets go of them, also when evicted for a copy") {
  DeviceOptions options;
  options.memory = 2 * 256;
  Fixture f(options);
  const HostBlock b = f.block(8, 1.0), c = f.block(8, 1.0), d = f.block(8, 4.0);
  f.read(b);
  f.cache->same_values(b.buffer, b.data, c.data, f.host.pool.content(c.data));
  f.read(d);
  f.work(ElementOp::add_scalar, 1.0, b, Intent::update);  // needs memory of its own: d or c leaves
  CHECK(f.value(b, 7) == 2.0);
  CHECK(f.value(c, 7) == 1.0);
  for (const HostBlock& x : {b, c, d}) f.free(x);
  CHECK(f.cache->device_memory().bytes_in_use == 0);
}

TEST_CASE("shared values that an operation reads, and leaves, are not written before it has read them") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    DeviceOptions options;
    options.seed = seed;
    Fixture f(options);
    const HostBlock b = f.block(8, 1.0), c = f.block(8, 1.0), d = f.block(8, 4.0);
    f.read(b);
    f.cache->same_values(b.buffer, b.data, c.data, f.host.pool.content(c.data));
    f.sum(b, b, d, 2.0);
    f.work(ElementOp::fill, 100.0, c, Intent::write);
    CHECK(f.value(b, 3) == 9.0);
    CHECK(f.value(c, 3) == 100.0);
    // The other one has ended: the memory may be handed out again.
    const HostBlock e = f.block(8, 1.0), g = f.block(8, 1.0);
    f.read(e);
    f.cache->same_values(e.buffer, e.data, g.data, f.host.pool.content(g.data));
    f.cache->operations().begin();
    double* source = f.cache->operations().operand(e, Intent::read, f.statement);
    double* target = f.cache->operations().operand(e, Intent::write, f.statement);
    f.free(g);
    double* scratch = f.cache->operations().scratch(8, f.statement);
    f.cache->operations().run(ElementWork{ElementOp::fill, 50.0, Fixture::view(scratch, 8), {}, {}});
    f.cache->operations().run(ElementWork{ElementOp::sum, 1.0, Fixture::view(target, 8), Fixture::constant(source, 8),
                                          Fixture::constant(source, 8)});
    f.cache->operations().release_scratch(scratch);
    f.cache->operations().end();
    CHECK(f.value(e, 5) == 2.0);
  }
}

TEST_CASE("element-wise work that a device has no memory for is done by the host on the device's values") {
  Fixture f;
  f.cache.reset();
  f.device = std::make_unique<Crowded>(*f.kernels);
  f.cache = std::make_unique<DeviceBlockCache>(*f.device, f.host.pool, true);
  const HostBlock b = f.block(8, 1.0), c = f.block(8, 3.0), d = f.block(8, 0.0);
  f.work(ElementOp::add_scalar, 2.0, b, Intent::update);
  f.sum(d, b, c, 10.0);
  f.sum(d, d, b, 1.0, Intent::update);
  CHECK(f.cache->stats().on_host_instead == 3);
  CHECK(f.made() == Counts{2, 0, 2, 0});
  CHECK(f.value(b, 7) == 3.0);
  CHECK(f.value(d, 7) == 36.0);
}

TEST_CASE("scratch of an operation that is abandoned is not lost") {
  DeviceOptions options;
  options.memory = 4 * 1024;
  Fixture f(options);
  const HostBlock b = f.block(100, 1.0);
  for (int i = 0; i < 20; ++i) {
    f.cache->operations().begin();
    f.cache->operations().operand(b, Intent::read, f.statement);
    f.cache->operations().scratch(200, f.statement);
    f.cache->operations().end();
  }
  CHECK(f.cache->device_memory().bytes_in_use == 1024);
}

TEST_CASE("events are given back, whoever asks") {
  Fixture f;
  DeviceOrder order(*f.device);
  double* p = f.device->reserve(32);
  Frontier last;
  for (int i = 0; i < 5000; ++i) {
    f.device->run(first_compute_stream, ElementWork{ElementOp::fill, 1.0, Fixture::view(p, 1), {}, {}});
    Frontier computed;
    computed.include(first_compute_stream, order.submitted(first_compute_stream));
    order.before(copy_out_stream, computed);
    last.include(copy_out_stream, order.submitted(copy_out_stream));
  }
  order.finish(last);
  CHECK(order.events() < 400);
  f.device->give_back(p, 32);
}
