// Blocks of other nodes that go on to the device while they come to the host: when pieces set off, when the device's
// copy counts, and what becomes of those that end on their way.
#include <numeric>

#include "altered_device.h"
#include "cache_fixture.h"
#include "runtime/core/base/error.h"

using namespace sial;
using namespace sial::cache_fixture;

namespace {

constexpr std::int64_t whole_block = 60, one_piece = 10;  // of the simulated device

DeviceOptions pieces_seeded(std::uint64_t seed, std::int64_t memory = 0) {
  DeviceOptions options = with_memory(memory);
  options.seed = seed;
  return options;
}

struct Pieces : Fixture {
  explicit Pieces(DeviceOptions options = {}) : Fixture(options) {}
  HostBlock fetched(std::int64_t n = whole_block) {
    HostBlock b = block(n, -1.0);
    b.fetched = true;
    return b;
  }
  /// So many whole_block are there by now: b[i] = value + i.
  static void come(IncomingBlock& incoming, const HostBlock& b, std::int64_t n, double value) {
    std::iota(b.data, b.data + n, value);
    incoming.come(static_cast<std::size_t>(n) * 8);
  }
  static void arrive(IncomingBlock& incoming, const HostBlock& b, double value) {
    std::iota(b.data, b.data + b.size(), value);
    incoming.arrived();
  }
  /// As the device has it: through a block that is computed there.
  bool device_has(const HostBlock& b, double value) {
    const HostBlock t = block(b.size(), 0.0);
    sum(t, b, b, 1.0);
    bool same = true;
    for (std::int64_t i = 0; i < b.size(); ++i)
      same = same && this->value(t, i) == 2.0 * (value + static_cast<double>(i));
    free(t);
    return same;
  }
  std::int64_t in_use() const { return cache->device_memory().bytes_in_use; }
  std::int64_t host_in_use() const { return host.heap.bytes_in_use(); }
  std::int64_t received() const { return cache->stats().received_pipelined.transfers; }
  Residency where(const HostBlock& b) { return cache->residency(b.buffer, b.data); }
};

}  // namespace

TEST_CASE("what has come of a block goes on to the device while the rest comes, and counts there when all of it has") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Pieces f(pieces_seeded(seed));
    const HostBlock b = f.fetched();
    {
      const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
      REQUIRE(incoming);
      CHECK(incoming->place() == nullptr);
      CHECK(incoming->piece() == one_piece * 8);
      f.come(*incoming, b, one_piece - 1, 3.0);
      CHECK(f.device->moved_in().transfers == 0);
      CHECK(f.in_use() == 0);
      f.come(*incoming, b, 2 * one_piece + 5, 3.0);
      CHECK(f.device->moved_in().transfers == 1);
      CHECK(f.device->moved_in().bytes == 2 * one_piece * 8);
      f.come(*incoming, b, 3 * one_piece - 1, 3.0);  // no further piece
      CHECK(f.device->moved_in().transfers == 1);
      f.come(*incoming, b, 5 * one_piece, 3.0);
      CHECK(f.device->moved_in().bytes == 5 * one_piece * 8);
      CHECK(f.where(b) == Residency::host);
      f.arrive(*incoming, b, 3.0);
    }
    CHECK(f.where(b) == Residency::both);
    CHECK(f.cache->stats().pieces_early == 2);
    CHECK(f.device_has(b, 3.0));
    CHECK(f.value(b, 59) == 62.0);
    CHECK(f.device->moved_in().bytes == whole_block * 8);  // nothing goes twice
    CHECK(f.made() == Counts{1, 1, 1, 1});                 // in: this block; out: the result
    CHECK(f.received() == 1);
    CHECK(f.cache->stats().received_pipelined.bytes == whole_block * 8);
    CHECK(f.cache->stats().ahead.transfers == 0);
    CHECK(f.cache->stats().ahead_used.transfers == 0);
    CHECK(f.cache->stats().received_direct.transfers == 0);
  }
}

TEST_CASE("a block all of whose pieces have come before it ends needs no further copy") {
  Pieces f;
  const HostBlock b = f.fetched();
  const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
  f.come(*incoming, b, one_piece, 1.0);
  f.come(*incoming, b, whole_block, 1.0);
  CHECK(f.device->moved_in().bytes == whole_block * 8);
  CHECK(f.cache->stats().pieces_early == 1);
  CHECK(f.where(b) == Residency::host);
  f.arrive(*incoming, b, 1.0);
  CHECK(f.device->moved_in().transfers == 2);
  CHECK(f.device_has(b, 1.0));
}

TEST_CASE("a block that comes as a whole is left to its use") {
  Pieces f;
  for (const bool told : {false, true}) {
    const HostBlock b = f.fetched();
    {
      const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
      if (told) f.come(*incoming, b, whole_block, 4.0);
      f.arrive(*incoming, b, 4.0);
    }
    CHECK(f.device->moved_in().transfers == 0);
    CHECK(f.in_use() == 0);
    CHECK(f.where(b) == Residency::host);
    f.free(b);
  }
  CHECK(f.received() == 0);
}

TEST_CASE("there are no pieces of small blocks, nor where copies take a detour") {
  Pieces f;
  CHECK(!f.cache->incoming().receive_pipelined(f.fetched(5), f.statement));
  CHECK(!f.cache->incoming().receive_pipelined(f.fetched(0), f.statement));
  DeviceOptions options;
  options.direct = false;
  Pieces staged(options);
  CHECK(!staged.cache->incoming().receive_pipelined(staged.fetched(), staged.statement));
}

TEST_CASE("a block that ends on its way leaves nothing, and its memory goes on when the copies are done") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Pieces f(pieces_seeded(seed, 64 * 256));
    const std::int64_t before = f.host_in_use();
    const HostBlock b = f.fetched();
    {
      const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
      f.come(*incoming, b, 4 * one_piece, 5.0);
      CHECK(f.in_use() == 512);
    }
    CHECK(f.in_use() == 0);
    CHECK(f.where(b) == Residency::host);
    f.host.pool.deallocate(b.data, whole_block);  // the copies hold it
    const HostBlock c = f.fetched();
    std::iota(c.data, c.data + whole_block, 100.0);
    CHECK(f.device_has(c, 100.0));  // in the device's memory that is free again
    CHECK(f.received() == 0);
    CHECK(f.cache->stats().total().in.bytes == (4 * one_piece + whole_block) * 8);  // what crossed the bus is counted
    f.free(c);
    f.cache->complete_all();
    f.cache->sweep();
    CHECK(f.in_use() == 0);
    CHECK(f.host_in_use() == before);
  }
}

TEST_CASE("memory of a block on its way is nobody else's") {
  Pieces f(with_memory(16 * 512));  // one block may be ahead of its use
  const HostBlock b = f.fetched();
  const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
  f.come(*incoming, b, 3 * one_piece, 7.0);
  std::vector<HostBlock> more;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 20; ++i) {
      if (round == 0) more.push_back(f.block(whole_block, i));
      f.work(ElementOp::add_scalar, 1.0, more[static_cast<std::size_t>(i)], Intent::update);
    }
  CHECK(f.cache->stats().evictions > 0);
  f.arrive(*incoming, b, 7.0);
  CHECK(f.device_has(b, 7.0));
  for (int i = 0; i < 20; ++i) CHECK(f.value(more[static_cast<std::size_t>(i)]) == i + 2.0);
}

TEST_CASE("but for an operation that has no other; then the block is the host's") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pieces f(pieces_seeded(seed, 16 * 512));
    const HostBlock b = f.fetched();
    const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
    f.come(*incoming, b, 3 * one_piece, 7.0);
    std::vector<HostBlock> operands;
    for (int i = 0; i < 16; ++i) operands.push_back(f.block(whole_block, i));
    f.cache->operations().begin();
    for (const HostBlock& o : operands) {
      double* d = f.cache->operations().operand(o, Intent::update, f.statement);
      f.cache->operations().run(ElementWork{ElementOp::add_scalar, 1.0, f.view(d, whole_block), {}, {}});
    }
    CHECK_THROWS_AS(f.cache->operations().operand(f.block(whole_block, 0.0), Intent::read, f.statement), DeviceFull);
    f.cache->operations().end();
    f.come(*incoming, b, 5 * one_piece, 7.0);
    f.arrive(*incoming, b, 7.0);
    CHECK(f.where(b) == Residency::host);
    CHECK(f.received() == 0);
    CHECK(f.device_has(b, 7.0));
    for (int i = 0; i < 16; ++i) CHECK(f.value(operands[static_cast<std::size_t>(i)], 59) == i + 1.0);
  }
}

TEST_CASE("only a share of the device's memory is taken for blocks on their way; who finds none is asked no more") {
  Pieces f(with_memory(64 * 512));  // four blocks
  std::vector<HostBlock> b;
  std::vector<std::unique_ptr<IncomingBlock>> incoming;
  for (int i = 0; i < 6; ++i) {
    b.push_back(f.fetched());
    incoming.push_back(f.cache->incoming().receive_pipelined(b.back(), f.statement));
    f.come(*incoming.back(), b.back(), 2 * one_piece, i);
  }
  CHECK(f.in_use() == 4 * 512);
  incoming[0].reset();
  f.come(*incoming[5], b[5], 3 * one_piece, 5.0);
  CHECK(f.in_use() == 3 * 512);
  for (std::size_t i = 1; i < 6; ++i) f.arrive(*incoming[i], b[i], static_cast<double>(i));
  CHECK(f.received() == 3);
  for (std::size_t i = 1; i < 6; ++i) {
    CHECK(f.where(b[i]) == (i < 4 ? Residency::both : Residency::host));
    CHECK(f.device_has(b[i], static_cast<double>(i)));
  }
}

TEST_CASE("nothing that is wanted soon leaves for a block on its way") {
  Pieces f(with_memory(16 * 512));
  std::vector<HostBlock> used;
  for (int i = 0; i < 16; ++i) used.push_back(f.block(whole_block, i));
  for (int round = 0; round < 3; ++round)
    for (const HostBlock& u : used) f.read(u);
  const std::int64_t evictions = f.cache->stats().evictions;
  const HostBlock b = f.fetched();
  const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
  f.come(*incoming, b, 3 * one_piece, 1.0);
  f.arrive(*incoming, b, 1.0);
  CHECK(f.cache->stats().evictions == evictions);
  CHECK(f.where(b) == Residency::host);
  CHECK(f.device_has(b, 1.0));
}

TEST_CASE("the copy that was received pipelined is invalidated like any other when the block changes or leaves") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Pieces f(pieces_seeded(seed));
    const auto receive = [&](const HostBlock& b, double value) {
      const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
      f.come(*incoming, b, 3 * one_piece, value);
      f.arrive(*incoming, b, value);
      REQUIRE(f.where(b) == Residency::both);
    };
    HostBlock b = f.fetched();
    receive(b, 1.0);
    f.read(b);                     // else fewer blocks would be received ahead
    f.on_host(b, Intent::update);  // at once: copies may be under way
    std::iota(b.data, b.data + whole_block, 50.0);
    CHECK(f.device_has(b, 50.0));
    f.work(ElementOp::add_scalar, 1.0, b, Intent::update);
    CHECK(f.value(b, 59) == 110.0);
    f.cache->complete_all();
    f.host.pool.deallocate(b.data, whole_block);  // the store drops it
    const double* before = b.data;
    b = f.fetched();
    REQUIRE(b.data == before);
    receive(b, 9.0);
    CHECK(f.device_has(b, 9.0));
    f.host.heap.changed(Chunk::of(b.data));
    CHECK(f.where(b) == Residency::host);
    CHECK(f.in_use() == 0);
  }
}

TEST_CASE("the number that counts is that of the buffer when all has come") {
  Pieces f;
  const HostBlock b = f.fetched();
  const auto incoming = f.cache->incoming().receive_pipelined(b, f.statement);
  f.come(*incoming, b, 3 * one_piece, 2.0);
  f.host.heap.changed(Chunk::of(b.data));  // as the store says of what it has fetched
  f.arrive(*incoming, b, 2.0);
  CHECK(f.where(b) == Residency::both);
  CHECK(f.device_has(b, 2.0));
}

TEST_CASE("a device that is lost while a block comes says so, and nothing of the block counts") {
  struct Lost final : AlteredDevice {
    explicit Lost(Kernels& kernels) : AlteredDevice(kernels) {}
    std::int64_t message_piece(std::int64_t) const override { return one_piece; }
    void copy_in(double* device, const double* host, std::int64_t n) override {
      if (copies_left-- <= 0) throw EnvironmentError("lost", "");
      AlteredDevice::copy_in(device, host, n);
    }
    int copies_left = 0;
  };
  for (const int survives : {0, 1, 2}) {
    Pieces f;
    auto device = std::make_unique<Lost>(*f.kernels);
    device->copies_left = survives;
    DeviceBlockCache cache(*device, f.host.pool, true);
    const HostBlock b = f.fetched();
    {
      const auto incoming = cache.incoming().receive_pipelined(b, f.statement);
      const auto all = [&] {
        f.come(*incoming, b, 2 * one_piece, 1.0);
        f.come(*incoming, b, 4 * one_piece, 1.0);
        f.arrive(*incoming, b, 1.0);
      };
      CHECK_THROWS_AS(all(), EnvironmentError);
      CHECK(cache.residency(b.buffer, b.data) == Residency::host);
    }
    CHECK(cache.device_memory().bytes_in_use == 0);
    CHECK(cache.stats().received_pipelined.transfers == 0);
    cache.complete_all();
  }
}
