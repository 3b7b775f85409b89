// Blocks prefetched to the device for uses that are foreseen: when they are, when they are not, and that what changes
// behind them counts.
#include "cache_fixture.h"

using namespace sial;
using namespace sial::cache_fixture;

namespace {

using Outcome = SpeculativePrefetch::Outcome;

struct Foreseen : Fixture {
  explicit Foreseen(DeviceOptions options = {}) : Fixture(options) {}
  /// As the store hands it out: held for the call only.
  Outcome prefetch(HostBlock b, double operations = 2.0) {
    b.fetched = true;
    return cache->prefetcher().prefetch(b, operations, Statement{7});
  }
  HostBlock fetched(std::int64_t n, double value) {
    HostBlock b = block(n, value);
    b.fetched = true;
    return b;
  }
  std::int64_t prefetched() const { return cache->stats().ahead.transfers; }
  std::int64_t used() const { return cache->stats().ahead_used.transfers; }
};

}  // namespace

TEST_CASE("a prefetched block is there when an operation asks for it, and is counted where it was foreseen") {
  Foreseen f;
  const HostBlock b = f.fetched(20, 2.0), t = f.block(20, 0.0);
  CHECK(f.prefetch(b) == Outcome::started);
  CHECK(f.prefetch(b) == Outcome::done);
  CHECK(f.cache->residency(b.buffer, b.data) == Residency::both);
  CHECK(f.prefetched() == 1);
  CHECK(f.used() == 0);
  f.sum(t, b, b, 1.0);
  f.sum(t, b, b, 3.0);
  CHECK(f.value(t) == 8.0);
  CHECK(f.used() == 1);
  CHECK(f.cache->stats().ahead.bytes == 160);
  CHECK(f.cache->stats().ahead_used.bytes == 160);
  CHECK(f.made() == Counts{1, 1, 1, 1});
  CHECK(f.cache->stats().rows.at({7, ArrayId(0)}).in.transfers == 1);
  CHECK(f.cache->stats().rows.at({f.statement.pc, ArrayId(0)}).in.transfers == 0);
}

TEST_CASE("what was prefetched of a block that changes before its use is dropped") {
  for (const bool in_place : {true, false}) {
    CAPTURE(in_place);
    Foreseen f;
    const HostBlock t = f.block(20, 0.0);
    HostBlock b = f.fetched(20, 2.0);
    CHECK(f.prefetch(b) == Outcome::started);
    f.cache->complete_all();
    if (in_place) {
      std::fill_n(b.data, 20, 5.0);
      f.host.heap.changed(Chunk::of(b.data));
    } else {
      f.host.pool.deallocate(b.data, 20);  // by who had it: the device is not told
      const double* before = b.data;
      b = f.fetched(20, 5.0);
      CHECK(b.data == before);
    }
    f.sum(t, b, b, 1.0);
    CHECK(f.value(t) == 10.0);
    CHECK(f.prefetched() == 1);
    CHECK(f.used() == 0);
    CHECK(f.made().front() == 2);
  }
}

TEST_CASE("a block that is given back while it is on its way stays until it is there") {
  Foreseen f;
  const HostBlock b = f.fetched(20, 2.0);
  CHECK(f.prefetch(b) == Outcome::started);
  CHECK(!f.host.pool.sole(b.data));
  f.cache->complete(b.data);
  CHECK(f.host.pool.sole(b.data));
}

TEST_CASE("nothing that may be wanted again leaves for what is foreseen; what ended does, if the host has it") {
  Foreseen f(with_memory(32 * 256));  // 32 blocks, two of them ahead
  std::vector<HostBlock> had;
  for (int i = 0; i < 32; ++i) {
    had.push_back(f.fetched(20, i));
    f.read(had.back());
  }
  for (const HostBlock& b : had) f.read(b);  // so that they are known to come back
  for (const HostBlock& b : had) f.read(b);
  const HostBlock next = f.fetched(20, 3.0);
  CHECK(f.prefetch(next) == Outcome::no_memory);
  CHECK(f.cache->stats().evictions == 0);
  f.free(had.back());
  CHECK(f.prefetch(next) == Outcome::started);  // in what is free
  const HostBlock other = f.fetched(20, 4.0);
  CHECK(f.prefetch(other) == Outcome::no_memory);
  CHECK(f.cache->stats().evictions == 0);
  CHECK(f.prefetched() == 1);
}

TEST_CASE(
    "what nothing is known of leaves for what is foreseen, unless the device alone has it or the present operation uses it") {
  Foreseen f(with_memory(32 * 256));
  std::vector<HostBlock> had;
  for (int i = 0; i < 32; ++i) {
    had.push_back(f.block(20, i));
    if (i % 2 == 0) f.read(had.back());
    else f.work(ElementOp::fill, 1.0, had.back(), Intent::write);
  }
  const HostBlock next = f.fetched(20, 3.0);
  CHECK(f.prefetch(next) == Outcome::started);
  CHECK(f.cache->stats().evictions == 1);
  CHECK(f.made()[1] == 0);  // nothing was written back
  for (std::size_t i = 0; i < had.size(); ++i) CHECK(f.value(had[i]) == (i % 2 == 0 ? static_cast<double>(i) : 1.0));
}

TEST_CASE("little is prefetched, and less where it was for nothing, until uses show that it pays") {
  Foreseen f(with_memory(64 * 256));  // four blocks ahead
  std::vector<HostBlock> b;
  for (int i = 0; i < 10; ++i) b.push_back(f.fetched(32, i));
  for (int i = 0; i < 4; ++i) CHECK(f.prefetch(b[i]) == Outcome::started);
  CHECK(f.prefetch(b[4]) == Outcome::no_memory);
  f.read(b[0]);
  CHECK(f.prefetch(b[4]) == Outcome::started);
  f.free(b[1]);  // two blocks at once from now on, where three are
  CHECK(f.prefetch(b[5]) == Outcome::no_memory);
  for (int i : {2, 3}) f.read(b[i]);
  CHECK(f.prefetch(b[5]) == Outcome::started);
  for (int i : {4, 5}) f.free(b[i]);  // one, then none
  CHECK(f.prefetch(b[6]) == Outcome::no_memory);
  const std::int64_t before = f.prefetched();
  for (int i = 0; i < 16; ++i) {
    const HostBlock asked_for = f.fetched(32, 1.0);
    f.read(asked_for);
    f.free(asked_for);
  }
  CHECK(f.prefetch(b[6]) == Outcome::started);
  CHECK(f.prefetched() == before + 1);
}
