// Look-ahead in the simulator, where time is exact and memory can be made scarce: what waits for what, what yields
// to what.
#include <catch2/catch.hpp>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/simulated.h"
#include "suite.h"

using namespace sial;

namespace {

BlockIndex at(int i) { return {1, {i}}; }
constexpr std::int64_t elements = 10000;  // 80 kB: 80 us at 1 GB/s

SimulationOptions two_nodes() {
  SimulationOptions o;
  o.ranks = 2;
  o.ranks_per_node = 1;
  o.latency = 1e-5;
  o.bandwidth = 1e9;
  o.disorder = false;
  return o;
}

/// Runs `body` on rank 0 after `n` blocks have been put; it gets those whose home is the other node.
void on_remote_blocks(SimulationOptions options, StoreOptions store, int n,
                      const std::function<void(suite::Job&, const std::vector<int>&)>& body) {
  run_simulated(options, [&](Transport& t) {
    if (t.is_server()) return suite::serve(t, store);
    suite::Job j(t, store);
    for (int i = j.rank; i < n; i += j.ranks) j.put(ArrayId(0), at(i), suite::Values(elements, i));
    j.barrier();
    if (j.rank == 0) {
      std::vector<int> remote;
      for (int i = 0; i < n; ++i) {  // a block of this node is not asked for
        const auto received = j.store->monitor().stats().bytes_received;
        j.get(ArrayId(0), at(i), elements);
        j.read(ArrayId(0), at(i), elements);
        if (j.store->monitor().stats().bytes_received > received) remote.push_back(i);
      }
      EXPECT(remote.size() > 8);
      j.store->synchronization().barrier({0, 1});
      body(j, remote);
      j.barrier();
    } else {
      j.barrier();
      j.barrier();
    }
    j.store->synchronization().end_program({0, 10});
  });
}

StoreOptions roomy() {
  StoreOptions o;
  o.memory_per_rank = 64 << 20;
  return o;
}

double wait_for(suite::Job& j, int i) {
  const double before = j.store->monitor().stats().fetch_wait_seconds;
  EXPECT(j.read(ArrayId(0), at(i), elements) == suite::Values(elements, i));
  return j.store->monitor().stats().fetch_wait_seconds - before;
}

}  // namespace

TEST_CASE("simulator: a prefetched block is there when its time has come") {
  on_remote_blocks(two_nodes(), roomy(), 40, [](suite::Job& j, const std::vector<int>& remote) {
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT(j.store->look_ahead().prefetch(ArrayId(0), at(remote[k]), elements, {0, 30}) == Prefetch::started);
    j.transport.charge_compute(1e-2);
    for (std::size_t k = 0; k < 4; ++k) {
      j.get(ArrayId(0), at(remote[k]), elements);
      EXPECT(wait_for(j, remote[k]) == 0);
    }
    EXPECT(j.store->monitor().stats().prefetches_useful == 4);
    std::int64_t prefetched = 0, late = 0;
    for (const AccessStats& row : j.store->monitor().access_stats()) prefetched += row.prefetched, late += row.late;
    EXPECT(prefetched == 4 && late == 0);
  });
}

TEST_CASE("simulator: a demand goes before prefetches, and a prefetch that becomes one does too") {
  on_remote_blocks(two_nodes(), roomy(), 60, [](suite::Job& j, const std::vector<int>& remote) {
    const auto last = remote.size() - 1;
    for (std::size_t k = 0; k < last; ++k) j.store->look_ahead().prefetch(ArrayId(0), at(remote[k]), elements, {0, 30});
    j.get(ArrayId(0), at(remote[last]), elements);
    const double demand = wait_for(j, remote[last]);
    EXPECT(demand < 3 * 1e-4);  // at most what was being sent already, and its own time: not ten times that
    const int late = remote[last - 1];
    j.get(ArrayId(0), at(late), elements);
    EXPECT(wait_for(j, late) < 3 * 1e-4);
    EXPECT(j.store->monitor().stats().prefetches_late == 1);
  });
}

TEST_CASE("simulator: prefetches take memory that nobody needs, and give it back") {
  StoreOptions scarce;
  scarce.memory_per_rank = 40 * elements * 8;
  on_remote_blocks(two_nodes(), scarce, 24, [](suite::Job& j, const std::vector<int>& remote) {
    j.store->look_ahead().set_live_set_known(true);
    std::int64_t started = 0;
    for (const int i : remote)
      started += j.store->look_ahead().prefetch(ArrayId(0), at(i), elements, {0, 30}) == Prefetch::started ? 1 : 0;
    EXPECT(started > 0);
    j.transport.charge_compute(1e-2);
    // All memory there is, asked for by the rank itself: the prefetches must go.
    std::vector<double*> own;
    try {
      while (true) own.push_back(j.store->buffers().allocate(elements));
    } catch (const EnvironmentError&) {}
    EXPECT(j.store->monitor().stats().prefetches_useless == started);
    EXPECT(j.store->look_ahead().prefetch(ArrayId(0), at(remote[0]), elements, {0, 30}) == Prefetch::full);
    for (double* p : own) j.store->buffers().deallocate(p, elements);
    j.get(ArrayId(0), at(remote[0]), elements);
    EXPECT(wait_for(j, remote[0]) > 0);
  });
}

// Another rank of the node needs what the prefetches hold: who holds them gives them up when it comes to the store.
TEST_CASE("simulator: prefetches yield to the other ranks of the node") {
  SimulationOptions o = two_nodes();
  o.ranks = 4;
  o.ranks_per_node = 2;
  StoreOptions scarce;
  scarce.memory_per_rank = 60 * elements * 8;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    o.seed = seed;
    std::int64_t most = 0;
    for (const bool prefetching : {false, true}) {
      run_simulated(o, [&](Transport& t) {
        suite::Job j(t, scarce);
        for (int i = j.rank; i < 40; i += j.ranks) j.put(ArrayId(0), at(i), suite::Values(elements, i));
        j.barrier();
        std::int64_t started = 0;
        j.store->look_ahead().set_live_set_known(true);
        if (j.rank == 0 && prefetching)
          for (int i = 0; i < 40; ++i)
            started +=
                j.store->look_ahead().prefetch(ArrayId(0), at(i), elements, {0, 30}) == Prefetch::started ? 1 : 0;
        if (prefetching && j.rank == 0) EXPECT(started > 0);
        j.meet();
        if (j.rank == 0)
          for (int k = 0; k < 2000; ++k) {
            j.get(ArrayId(0), at(0), elements);
            j.read(ArrayId(0), at(0), elements);
            t.charge_compute(1e-4);
          }
        std::vector<double*> own;
        if (j.rank == 1) {
          t.charge_compute(1e-3);
          try {
            while (prefetching ? static_cast<std::int64_t>(own.size()) < most : true)
              own.push_back(j.store->buffers().allocate(elements));
          } catch (const EnvironmentError&) { EXPECT(!prefetching); }
          if (!prefetching) most = static_cast<std::int64_t>(own.size());
        }
        for (double* p : own) j.store->buffers().deallocate(p, elements);
        j.barrier();
        j.store->synchronization().end_program({0, 10});
      });
    }
    EXPECT(most > 20);
  }
}

// A node receives puts while its rank computes, waits in a collective or for memory of the others with its memory full
// of copies. What it could fetch again has to go, however late it comes to it: else the job ends for want of memory
// that it has, when one rank is slower than the others.
TEST_CASE("simulator: fetched copies yield to what other nodes put") {
  constexpr int computes = 0, meets = 1,
                floods = 2;  // what rank 0 does meanwhile; floods: rank 1 puts faster than its blocks are taken
  const int what = GENERATE(0, 1, 2);
  constexpr ArrayId read_array{0}, put_array{1};
  constexpr int n_read = 60, n_put = 78;
  StoreOptions scarce;
  scarce.memory_per_rank =
      100 * elements * 8 +
      64 * 1024;  // for the puts and the copies that a statement may use, or for the copies and half of the puts
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SimulationOptions o = two_nodes();
    o.seed = seed;
    o.disorder = seed > 1;
    run_simulated(o, [&](Transport& t) {
      suite::Job j(t, scarce);
      const auto some_of = [&](ArrayId array, bool here, int n) {
        std::vector<int> blocks;
        for (int i = 0; static_cast<int>(blocks.size()) < n; ++i)
          if (j.store->update().leaves_node(array, at(i)) != here) blocks.push_back(i);
        return blocks;
      };
      if (j.rank == 1)
        for (const int i : some_of(read_array, true, n_read)) j.put(read_array, at(i), suite::Values(elements, i));
      j.barrier();
      if (j.rank == 0) {
        for (const int i : some_of(read_array, false, n_read)) {
          j.get(read_array, at(i), elements);
          j.read(read_array, at(i), elements);
        }
        if (what == computes) t.charge_compute(10);
        if (what == meets) j.meet();
        for (const int i : some_of(read_array, false, n_read)) {
          j.get(read_array, at(i), elements);
          EXPECT(j.read(read_array, at(i), elements) == suite::Values(elements, i));
        }
      } else {
        for (const int i : some_of(put_array, false, n_put)) {
          j.put(put_array, at(i), suite::Values(elements, -i));
          if (what != floods) t.charge_compute(5e-4);
        }
        if (what == meets) j.meet();
      }
      j.barrier();
      if (j.rank == 0)
        for (const int i : some_of(put_array, true, n_put)) {
          j.get(put_array, at(i), elements);
          EXPECT(j.read(put_array, at(i), elements) == suite::Values(elements, -i));
        }
      j.barrier();
      j.store->synchronization().end_program({0, 10});
    });
  }
}

TEST_CASE("simulator: a block that cannot have room ahead is not asked for") {
  StoreOptions small;
  small.memory_per_rank = 40 * elements * 8;
  small.copy_budget = 3 * elements * 8;
  on_remote_blocks(two_nodes(), small, 24, [](suite::Job& j, const std::vector<int>& remote) {
    EXPECT(j.store->look_ahead().prefetch(ArrayId(0), at(remote[0]), elements, {0, 30}) == Prefetch::too_big);
    EXPECT(j.store->monitor().stats().prefetches == 0);
    std::int64_t noted = 0;
    for (const AccessStats& row : j.store->monitor().access_stats()) {
      if (row.too_large == 0) continue;
      noted += row.too_large;
      EXPECT(row.place.pc == 30);
      EXPECT(row.too_large_bytes == elements * 8);
      EXPECT(row.enough_memory > 40 * elements * 8);
    }
    EXPECT(noted == 1);
  });
}

TEST_CASE("simulator: what a fetch takes is known from the network's settings") {
  on_remote_blocks(two_nodes(), roomy(), 40, [](suite::Job& j, const std::vector<int>&) {
    EXPECT(j.store->look_ahead().fetch_seconds(80000) == Approx(1e-4));
  });
}
