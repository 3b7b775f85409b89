// The node heap over plain memory: reuse, splitting, merging, borrowing, stepwise commitment, exhaustion.
#include <sys/mman.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/memory/arena_pool.h"

using namespace sial;

namespace {

constexpr std::size_t mib = 1 << 20;

struct Heap {
  explicit Heap(int arenas, std::size_t bytes, std::size_t limit = ~std::size_t{0})
      : size(NodeHeap::bytes_needed(arenas, bytes)),
        base(static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        heap(base, 0, arenas, bytes,
             {[this, limit](std::size_t, std::size_t n) {
                if (committed + n > limit) throw EnvironmentError("shared memory is full", "enlarge it");
                committed += n;
                ++commits;
              },
              [] { std::this_thread::yield(); }}) {}
  ~Heap() { munmap(base, size); }

  std::size_t size;
  std::atomic<std::size_t> committed = 0;
  std::atomic<int> commits = 0;
  std::byte* base;
  NodeHeap heap;
};

}  // namespace

TEST_CASE("chunks are aligned, distinct and reused") {
  Heap h(1, 4 * mib);
  std::set<Chunk*> seen;
  for (const std::int64_t n : {0, 1, 7, 8, 9, 1000, 4096}) {
    Chunk* c = h.heap.try_allocate(0, n);
    REQUIRE(c);
    CHECK(reinterpret_cast<std::uintptr_t>(c->data()) % 64 == 0);
    CHECK(c->doubles == n);
    CHECK(seen.insert(c).second);
    std::memset(c->data(), 0xab, static_cast<std::size_t>(n) * 8);
  }
  for (Chunk* c : seen) h.heap.drop_reference(c, 0);
  CHECK(h.heap.bytes_in_use() == 0);
  const auto before = h.heap.stats(0);
  Chunk* again = h.heap.try_allocate(0, 1000);
  CHECK(seen.count(again) == 1);
  CHECK(h.heap.stats(0).cache_hits == before.cache_hits + 1);
}

TEST_CASE("the steady state neither commits nor grows") {
  Heap h(1, 16 * mib);
  std::vector<Chunk*> held;
  const auto round = [&] {
    for (int i = 0; i < 20; ++i) held.push_back(h.heap.try_allocate(0, 10000 + 500 * (i % 3)));
    for (Chunk* c : held) h.heap.drop_reference(c, 0);
    held.clear();
  };
  round();
  const int commits = h.commits;
  const auto before = h.heap.stats(0);
  for (int i = 0; i < 50; ++i) round();
  const auto after = h.heap.stats(0);
  CHECK(h.commits == commits);
  CHECK(after.cache_hits - before.cache_hits == after.requests - before.requests);
  CHECK(after.bytes_high_water == before.bytes_high_water);
}

TEST_CASE("memory is committed in steps") {
  Heap h(1, 64 * mib);
  CHECK(h.committed < mib);
  h.heap.try_allocate(0, 1000);
  CHECK(h.committed < 3 * mib);
  h.heap.try_allocate(0, 4 * mib / 8);
  CHECK(h.committed < 8 * mib);
}

TEST_CASE("the committed memory around a chunk is its arena's, and only grows at its end") {
  Heap h(2, 16 * mib);
  const Chunk* first = h.heap.try_allocate(0, 1000);
  const Chunk* other = h.heap.try_allocate(1, 1000);
  const auto range = h.heap.committed(first);
  CHECK(range.data() <= reinterpret_cast<const std::byte*>(first));
  CHECK(reinterpret_cast<const std::byte*>(first->data() + 1000) <= range.data() + range.size());
  CHECK(h.heap.committed(other).data() >= range.data() + range.size());
  const Chunk* large = h.heap.try_allocate(0, 8 * mib / 8);
  const auto grown = h.heap.committed(large);
  CHECK(grown.data() == range.data());
  CHECK(grown.size() >= 8 * mib);
  CHECK(grown.data() + grown.size() <= h.heap.committed(other).data());
}

TEST_CASE("a full arena takes from its siblings, and what it took returns to them") {
  Heap h(3, mib);
  std::vector<Chunk*> chunks;
  while (Chunk* c = h.heap.try_allocate(0, 8192)) chunks.push_back(c);
  std::map<std::uint32_t, int> owners;
  for (Chunk* c : chunks) ++owners[c->arena];
  CHECK(owners.size() == 3);
  for (Chunk* c : chunks) h.heap.drop_reference(c, 0);
  CHECK(h.heap.bytes_in_use() == 0);
  const auto hits = h.heap.stats(2).cache_hits;
  Chunk* c = h.heap.try_allocate(2, 8192);  // from what rank 0 returned to arena 2
  CHECK(c->arena == 2);
  CHECK(h.heap.stats(2).cache_hits == hits + 1);
}

TEST_CASE("free neighbours merge when large blocks follow small ones, and large blocks are split for small ones") {
  Heap h(1, 4 * mib);
  std::vector<Chunk*> chunks;
  while (Chunk* c = h.heap.try_allocate(0, 1000)) chunks.push_back(c);
  CHECK(chunks.size() > 480);
  for (Chunk* c : chunks) h.heap.drop_reference(c, 0);
  Chunk* large = h.heap.try_allocate(0, 3 * mib / 8);
  REQUIRE(large);
  h.heap.drop_reference(large, 0);
  std::size_t small = 0;
  while (h.heap.try_allocate(0, 1000)) ++small;
  CHECK(small == chunks.size());
}

TEST_CASE("exhaustion names what was wanted, the budget and the remedy") {
  Heap h(2, mib);
  try {
    h.heap.allocate(0, 10 * mib / 8, [] { return std::string("block t2[1,2]"); });
    FAIL("no error");
  } catch (const EnvironmentError& e) {
    CHECK_THAT(e.what(), Catch::Contains("block t2[1,2]") && Catch::Contains("10.5 MB") && Catch::Contains("2.10 MB"));
    CHECK_THAT(e.hint(), Catch::Contains("--memory"));
  }
}

TEST_CASE("a small shared memory is used up to its end, then the reason is given") {
  Heap h(1, 64 * mib, 3 * mib);
  std::size_t got = 0;
  while (h.heap.try_allocate(0, 8192)) got += 65536;
  CHECK(got > 2 * mib);
  CHECK_THROWS_WITH(h.heap.allocate(0, 8192, [] { return std::string("x"); }),
                    Catch::Contains("shared memory is full"));
}

TEST_CASE("references keep a chunk") {
  Heap h(1, mib);
  Chunk* c = h.heap.try_allocate(0, 10);
  h.heap.add_reference(c);
  CHECK_FALSE(h.heap.sole_reference(c));
  h.heap.drop_reference(c, -1);
  CHECK(h.heap.sole_reference(c));
  CHECK(h.heap.bytes_in_use() > 0);
  h.heap.drop_reference(c, -1);
  CHECK(h.heap.bytes_in_use() == 0);
}

TEST_CASE("buffers have holders, and a chunk of a rank's own can become the node's") {
  Heap h(2, mib);
  ArenaPool pool(h.heap, 0);
  double* p = pool.allocate(100);
  CHECK(pool.sole(p));
  REQUIRE(pool.share(p));
  CHECK_FALSE(pool.sole(p));
  pool.deallocate(p, 100);
  CHECK(pool.sole(p));
  const auto bytes = static_cast<std::int64_t>(NodeHeap::chunk_bytes(100));
  h.heap.count_shared(h.heap.leave_own(Chunk::of(p)), 0);
  CHECK(h.heap.leave_own(Chunk::of(p)) == 0);  // is the node's already
  PhasePeak peak = h.heap.close_phase(0, true);
  CHECK(peak.own == bytes);
  CHECK(peak.shared == bytes);
  peak = h.heap.close_phase(0, true);
  CHECK(peak.own == 0);
  CHECK(peak.shared == bytes);
  pool.deallocate(p, 100);
  h.heap.close_phase(0, true);
  CHECK(h.heap.close_phase(0, true).shared == 0);
  CHECK(h.heap.bytes_in_use() == 0);
}

TEST_CASE("random use never hands out overlapping memory") {
  const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  std::mt19937 rng(seed);
  Heap h(2, 2 * mib);
  struct Live {
    Chunk* c;
    double stamp;
  };
  std::vector<Live> live;
  for (int step = 0; step < 20000; ++step) {
    if (rng() % 2 == 0) {
      const auto n = static_cast<std::int64_t>(rng() % (rng() % 8 == 0 ? 20000 : 300));
      Chunk* c = h.heap.try_allocate(static_cast<int>(rng() % 2), n);
      if (!c) continue;
      const double stamp = step;
      for (std::int64_t i = 0; i < n; ++i) c->data()[i] = stamp;
      live.push_back({c, stamp});
    } else if (!live.empty()) {
      const std::size_t i = rng() % live.size();
      for (std::int64_t k = 0; k < live[i].c->doubles; ++k) REQUIRE(live[i].c->data()[k] == live[i].stamp);
      h.heap.drop_reference(live[i].c, static_cast<int>(rng() % 2));
      live[i] = live.back();
      live.pop_back();
    }
  }
  for (const Live& l : live) h.heap.drop_reference(l.c, 0);
  CHECK(h.heap.bytes_in_use() == 0);
}

namespace {

/// A heap that hands memory back in granules; what it hands back is overwritten.
struct ReturningHeap {
  ReturningHeap(int arenas, std::size_t budget, std::size_t granule, bool spills = true)
      : granule(granule),
        spills(spills),
        size(NodeHeap::bytes_needed(arenas, budget, true)),
        base(static_cast<std::byte*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        usable(size / granule + 1),
        heap(base, 0, arenas, budget, hooks()) {}
  ~ReturningHeap() { munmap(base, size); }

  HeapHooks hooks() {
    HeapHooks h;
    h.commit = [this](std::size_t at, std::size_t bytes) {
      for (std::size_t g = at / granule; g < (at + bytes + granule - 1) / granule; ++g)
        if (!usable[g]) usable[g] = true, committed += granule, bytes_committed += granule;
    };
    h.pause = [] {};
    h.spills = spills;
    h.committed = [this] { return committed; };
    h.uncommitted = [this](std::size_t at, std::size_t bytes) { return missing(at, bytes); };
    h.uncommit = [this](std::size_t at, std::size_t bytes) {
      for (std::size_t g = (at + granule - 1) / granule; g < (at + bytes) / granule; ++g)
        if (usable[g]) {
          usable[g] = false;
          committed -= granule;
          std::memset(base + g * granule, 0xee, granule);
        }
    };
    return h;
  }
  std::size_t missing(std::size_t at, std::size_t bytes) const {
    std::size_t n = 0;
    for (std::size_t g = at / granule; g < (at + bytes + granule - 1) / granule; ++g) n += usable[g] ? 0 : granule;
    return n;
  }

  std::size_t granule;
  bool spills;
  std::size_t size, committed = 0, bytes_committed = 0;
  std::byte* base;
  std::vector<bool> usable;
  NodeHeap heap;
};

constexpr std::size_t slack = 16 * mib;  // for gaps and whole granules

}  // namespace

TEST_CASE("memory that goes back is never in use, and no gap is too small") {
  const std::size_t granule = GENERATE(std::size_t{4096}, std::size_t{65536});
  const unsigned seed = GENERATE(1u, 2u, 3u);
  const bool spills = GENERATE(true, false);
  CAPTURE(granule, seed, spills);
  std::mt19937 rng(seed);
  constexpr int arenas = 2;
  constexpr std::size_t budget = 48 * mib;
  ReturningHeap h(arenas, budget, granule, spills);
  const std::size_t at_first = h.committed;
  std::vector<Chunk*> live;
  const auto check = [&](Chunk* c) {
    for (std::int64_t i = 0; i < c->doubles; i += 300) REQUIRE(c->data()[i] == c->scalar);
  };
  for (int step = 0; step < 30000; ++step) {
    // Blocks of one size after those of another: what is free lies in pieces that are too small.
    const std::int64_t n = rng() % 4 == 0 ? 100 + static_cast<std::int64_t>(rng() % 3000)
                                          : (step / 3000 % 2 == 0 ? 9000 : 70000 + 1000 * (step / 6000));
    if (rng() % 20 < 11) {
      const auto free = h.heap.bytes_free();
      const int arena = static_cast<int>(rng() % arenas);
      Chunk* c = nullptr;
      if (rng() % 2 == 0) c = h.heap.try_allocate(arena, n);
      // Where blocks can leave, only who cannot do without looks at all that is free.
      if (!c && (spills || rng() % 2 == 0)) try {
          c = h.heap.allocate(arena, n, [] { return std::string("a block"); });
        } catch (const EnvironmentError&) {}
      if (!c && !spills) c = h.heap.try_allocate(arena, n);
      if (!c) {
        REQUIRE(free < static_cast<std::int64_t>(NodeHeap::chunk_bytes(n)));
        continue;
      }
      REQUIRE(h.missing(h.heap.offset(c), c->bytes) == 0);
      c->scalar = step;
      for (std::int64_t i = 0; i < n; i += 300) c->data()[i] = step;
      live.push_back(c);
    } else if (!live.empty()) {
      const std::size_t i = rng() % live.size();
      check(live[i]);
      h.heap.drop_reference(live[i], static_cast<int>(rng() % arenas));
      live[i] = live.back();
      live.pop_back();
    }
    REQUIRE(h.committed <= at_first + arenas * budget + slack);
  }
  for (Chunk* c : live) {
    check(c);
    h.heap.drop_reference(c, 0);
  }
  CHECK(h.heap.bytes_in_use() == 0);
}

TEST_CASE("who can do without looks at free chunks only where enough of them are new") {
  // Many free chunks that are too small to hand anything back lie between blocks in use, and the rest is full.
  constexpr std::size_t budget = 256 * mib;
  ReturningHeap h(1, budget, 65536, true);
  std::vector<Chunk*> small, large;
  for (int i = 0; i < 16000; ++i) small.push_back(h.heap.try_allocate(0, 1000));
  const auto fill = [&] {
    while (Chunk* c = h.heap.try_allocate(0, 9000)) large.push_back(c);
  };
  fill();
  for (std::size_t i = 0; i < small.size(); i += 2) h.heap.drop_reference(std::exchange(small[i], nullptr), 0);
  fill();
  REQUIRE(h.heap.bytes_free() > static_cast<std::int64_t>(16 * mib));
  const std::uint64_t before = h.heap.chunks_looked_at(0);
  constexpr std::size_t requests = 1000;
  int had = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    // A block leaves, and another one wants a little more than its place.
    Chunk*& place = large[i % large.size()];
    h.heap.drop_reference(place, 0);
    place = h.heap.try_allocate(0, 9000 + 1000 * static_cast<std::int64_t>(i % 5));
    had += place ? 1 : 0;
    if (!place) place = h.heap.allocate(0, 1, [] { return std::string("a block"); });
  }
  CHECK(had > 100);
  CHECK(h.heap.chunks_looked_at(0) - before < 1000 * requests);  // of 8000
  for (Chunk* c : small)
    if (c) h.heap.drop_reference(c, 0);
  for (Chunk* c : large) h.heap.drop_reference(c, 0);
  CHECK(h.heap.bytes_in_use() == 0);
}

TEST_CASE("a full arena takes from others in the order that is asked for") {
  constexpr std::size_t budget = 4 * mib;
  std::vector<double> seen;
  std::vector<int> order = {0, 2, 3, 1};
  const std::size_t size = NodeHeap::bytes_needed(4, budget);
  auto* base = static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  HeapHooks hooks{[](std::size_t, std::size_t) {}, [] {}};
  hooks.fallback_arenas = [&](int own, std::span<const double> used) {
    CHECK(own == 0);
    seen.assign(used.begin(), used.end());
    return order;
  };
  {
    NodeHeap heap(base, 0, 4, budget, hooks);
    std::vector<Chunk*> held;
    std::vector<int> arenas;
    for (int i = 0; i < 12; ++i) {
      held.push_back(heap.try_allocate(0, 160000));  // three to an arena
      REQUIRE(held.back());
      arenas.push_back(held.back()->arena);
    }
    CHECK(arenas == std::vector<int>{0, 0, 0, 2, 2, 2, 3, 3, 3, 1, 1, 1});
    REQUIRE(seen.size() == 4);
    CHECK(seen[0] > 0.9);
    CHECK(seen[1] < 0.7);
    // What is the node's may begin elsewhere, and comes home when that is full.
    for (Chunk* c : held) heap.drop_reference(c, 0);
    Chunk* first = heap.allocate_shared(0, 3, 160000, [] { return std::string("a block"); });
    CHECK(first->arena == 3);
    heap.drop_reference(first, 0);
  }
  munmap(base, size);
}

TEST_CASE("after a phase of small blocks a large one can be had, unless somebody relies on the memory around blocks") {
  const bool relies = GENERATE(false, true);
  CAPTURE(relies);
  constexpr std::size_t budget = 64 * mib;
  ReturningHeap h(2, budget, 4096, false);
  const std::size_t at_first = h.committed;
  std::vector<Chunk*> chunks;
  chunks.push_back(h.heap.try_allocate(0, 4000));
  if (relies) CHECK(!h.heap.committed(chunks.front()).empty());
  while (Chunk* c = h.heap.try_allocate(0, 4000)) chunks.push_back(c);
  CHECK(h.heap.bytes_free() < static_cast<std::int64_t>(2 * NodeHeap::chunk_bytes(4000)));
  std::set<Chunk*> left;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i % 50 == 0) left.insert(chunks[i]);
    else h.heap.drop_reference(chunks[i], 0);
  }
  for (Chunk* c : left)
    for (std::int64_t k = 0; k < c->doubles; ++k) c->data()[k] = 5;
  // More than one rank's part: the budget of bytes is the node's.
  Chunk* large = h.heap.try_allocate(1, static_cast<std::int64_t>(2 * budget / 10 * 9 / sizeof(double)));
  CHECK((large != nullptr) == !relies);
  CHECK(h.committed <= at_first + 2 * budget + slack);
  if (large) {
    CHECK(h.missing(h.heap.offset(large), large->bytes) == 0);
    CHECK(h.heap.committed(large).empty());
    std::memset(large->data(), 0, static_cast<std::size_t>(large->doubles) * sizeof(double));
    h.heap.drop_reference(large, 1);
  }
  for (Chunk* c : left) {
    for (std::int64_t k = 0; k < c->doubles; ++k) REQUIRE(c->data()[k] == 5);
    h.heap.drop_reference(c, 0);
  }
  CHECK(h.heap.bytes_in_use() == 0);
}

TEST_CASE("who finds no memory waits for references that a thread drops in time") {
  Heap h(2, 4 * mib);
  const auto block = [] { return std::string("block g[1]"); };
  std::vector<Chunk*> held;
  for (const int arena : {0, 1}) held.push_back(h.heap.allocate(arena, 400000, block, true));
  CHECK_FALSE(h.heap.has_passing());
  CHECK_THROWS_AS(h.heap.allocate(0, 400000, block, true), EnvironmentError);
  for (const int arena : {0, 1}) h.heap.begin_passing(arena);
  CHECK(h.heap.has_passing());
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    h.heap.drop_passing(held[0], 0);
    h.heap.drop_passing(held[1], 1);
  });
  Chunk* c = h.heap.allocate(0, 400000, block, true);
  writer.join();
  CHECK_FALSE(h.heap.has_passing());
  CHECK(h.heap.bytes_in_use() == static_cast<std::int64_t>(NodeHeap::chunk_bytes(400000)));
  h.heap.drop_reference(c, 0);
  CHECK(h.heap.bytes_in_use() == 0);
}

TEST_CASE("several threads allocate and free each other's chunks") {
  Heap h(4, 4 * mib);
  std::vector<std::atomic<Chunk*>> mailbox(16);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 rng(static_cast<unsigned>(t));
      for (int i = 0; i < 5000; ++i) {
        const auto n = static_cast<std::int64_t>(rng() % 500);
        Chunk* c = i % 2 == 0 ? h.heap.allocate(t, n, [] { return std::string("a block"); })
                              : h.heap.try_allocate(t, n, nullptr, i % 4 == 1);
        if (!c) continue;
        for (std::int64_t k = 0; k < c->doubles; ++k) c->data()[k] = 1;
        if (Chunk* old = mailbox[rng() % 16].exchange(c)) h.heap.drop_reference(old, t);
      }
    });
  for (auto& t : threads) t.join();
  for (auto& m : mailbox)
    if (m.load()) h.heap.drop_reference(m.load(), 0);
  CHECK(h.heap.bytes_in_use() == 0);
  for (int t = 0; t < 4; ++t) {
    CHECK(h.heap.own_in_use(t) == 0);
    CHECK(h.heap.stats(t).requests >= 5000);
  }
}

TEST_CASE("a phase is charged with each rank's own memory and the node's shared one, apart") {
  Heap h(2, 4 * mib);
  const auto bytes = [](std::int64_t doubles) { return static_cast<std::int64_t>(NodeHeap::chunk_bytes(doubles)); };
  const auto what = [] { return std::string("a block"); };
  Chunk* own = h.heap.allocate(0, 1000, what);
  Chunk* passing = h.heap.allocate(0, 5000, what);
  h.heap.drop_reference(passing, 0);
  Chunk* block = h.heap.allocate(1, 3000, what, true);
  PhasePeak first = h.heap.close_phase(0, true), second = h.heap.close_phase(1, false);
  // The classes of the heap may hand out a little more than was asked for.
  CHECK(first.own == bytes(1000) + bytes(5000));
  CHECK(first.shared == bytes(3000));
  CHECK(second.own == 0);
  CHECK(second.shared == 0);
  h.heap.drop_reference(block, 0);
  first = h.heap.close_phase(0, true);
  CHECK(first.own == bytes(1000));  // what lives on counts in each phase
  CHECK(first.shared == bytes(3000));
  first = h.heap.close_phase(0, true);
  CHECK(first.shared == 0);
  h.heap.drop_reference(own, 1);  // whoever drops it, it was rank 0's
  h.heap.close_phase(0, true);
  CHECK(h.heap.close_phase(0, true).own == 0);
}

TEST_CASE("what is in use is counted right, whoever takes it, makes it the node's, or gives it back") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  std::mt19937 rng(seed);
  Heap h(2, 2 * mib);
  struct Live {
    Chunk* c;
    int rank;
    bool own;
  };
  std::vector<Live> live;
  std::array<std::int64_t, 2> in_use{}, own{}, high{}, own_high{}, requests{};
  const auto what = [] { return std::string("a block"); };
  for (int step = 0; step < 10000; ++step) {
    const int rank = static_cast<int>(rng() % 2);
    const auto n = static_cast<std::int64_t>(100 * (1 + rng() % 4));
    switch (rng() % 5) {
      case 0:
      case 1: {
        const bool shared = rng() % 4 == 0;
        Chunk* c =
            rng() % 2 == 0 ? h.heap.try_allocate(rank, n, nullptr, shared) : h.heap.allocate(rank, n, what, shared);
        REQUIRE(c->arena == rank);
        ++requests[rank];
        const auto bytes = static_cast<std::int64_t>(c->bytes);
        high[rank] = std::max(high[rank], in_use[rank] += bytes);
        if (!shared) own_high[rank] = std::max(own_high[rank], own[rank] += bytes);
        live.push_back({c, rank, !shared});
        break;
      }
      case 2:
        if (!live.empty()) {
          Live& l = live[rng() % live.size()];
          if (l.own) own[l.rank] -= static_cast<std::int64_t>(l.c->bytes);
          h.heap.count_shared(h.heap.leave_own(l.c), l.rank);
          l.own = false;
        }
        break;
      default:
        if (!live.empty()) {
          const std::size_t i = rng() % live.size();
          const Live l = live[i];
          in_use[l.rank] -= static_cast<std::int64_t>(l.c->bytes);
          if (l.own) own[l.rank] -= static_cast<std::int64_t>(l.c->bytes);
          h.heap.drop_reference(l.c, static_cast<int>(rng() % 3) - 1);
          live[i] = live.back();
          live.pop_back();
        }
    }
    if (step % 500 == 499)
      for (int a = 0; a < 2; ++a) {
        CHECK(h.heap.close_phase(a, a == 0).own == own_high[a]);
        own_high[a] = own[a];
      }
    for (int a = 0; a < 2; ++a) {
      const ResourceStats s = h.heap.stats(a);
      REQUIRE(s.bytes_in_use == in_use[a]);
      REQUIRE(s.bytes_high_water == high[a]);
      REQUIRE(s.requests == requests[a]);
      REQUIRE(h.heap.own_in_use(a) == own[a]);
    }
  }
  for (int a = 0; a < 2; ++a) CHECK(h.heap.stats(a).cache_hits > h.heap.stats(a).requests / 2);
}

TEST_CASE("what a chunk holds has a number that no chunk had before, and none when it is free") {
  Heap h(2, mib);
  std::set<std::uint64_t> seen;
  std::vector<Chunk*> live;
  std::mt19937 rng(5);
  const auto what = [] { return std::string("a block"); };
  for (int step = 0; step < 3000; ++step) {
    if (live.size() < 20) {
      const int rank = static_cast<int>(rng() % 2);
      live.push_back(rng() % 2 == 0 ? h.heap.allocate(rank, 100, what) : h.heap.try_allocate(rank, 100, nullptr, true));
      REQUIRE(seen.insert(live.back()->content.load()).second);
    }
    const std::size_t i = rng() % live.size();
    Chunk* c = live[i];
    h.heap.changed(c);
    REQUIRE(seen.insert(c->content.load()).second);
    if (rng() % 2 == 0) {
      live[i] = live.back();
      live.pop_back();
      h.heap.drop_reference(c, static_cast<int>(rng() % 2));
      REQUIRE(c->content.load() == 0);
    }
  }
}
