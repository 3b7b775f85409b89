// The suite with blocks that go to a disk and come back whenever they may: nothing else changes.
#include <catch2/catch.hpp>

#include <filesystem>
#include <limits>
#include <map>
#include <mutex>

#include "runtime/core/base/error.h"
#include "runtime/core/store/spill/make_tiers.h"
#include "runtime/core/tier/faulty_tier.h"
#include "runtime/core/tier/simulated_tier.h"
#include "runtime/core/transport/loopback.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/core/transport/threads.h"
#include "suite.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

struct Layout {
  int ranks, per_node, servers;
};
const Layout layouts[] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {2, 1, 0}, {4, 2, 0}, {3, 1, 0}, {2, 0, 1}};

std::unique_ptr<BlockStore> with_disk(Transport& transport, StoreOptions options) {
  options.spill = {{TierKind::disk, std::filesystem::temp_directory_path().string(), 64 << 20}};
  return make_block_store(transport, nullptr, options);
}

/// Memory is never short.
std::unique_ptr<BlockStore> roomy(Transport& transport, const StoreOptions& options) {
  return with_disk(transport, options);
}

std::unique_ptr<BlockStore> spilling(Transport& transport, StoreOptions options) {
  options.spill_every = 1;
  return with_disk(transport, options);
}

/// Nodes of a simulation, each with a disk on its clock.
class SimulatedDisks {
 public:
  TierList tiers(Transport& transport) {
    const std::lock_guard guard(mutex_);
    auto& space = spaces_[transport.node()];
    if (!space) space = std::make_shared<SimulatedSpace>(64 << 20, SimulatedSpeed{});
    return {std::make_shared<SimulatedTier>(space, [&transport] { return transport.now(); })};
  }
  suite::StoreMaker spilling(bool eagerly) {
    return [this, eagerly](Transport& transport, StoreOptions options) {
      options.spill_every = eagerly ? 1 : 0;
      options.make_tiers = [this](Transport& t) { return tiers(t); };
      return make_block_store(transport, nullptr, options);
    };
  }

 private:
  std::mutex mutex_;
  std::map<NodeId, std::shared_ptr<SimulatedSpace>> spaces_;
};

}  // namespace

TEST_CASE("spill: rules and histories on one rank") {
  suite::run_rules(*make_loopback(), {}, roomy);
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    const auto transport = make_loopback();
    REQUIRE_NOTHROW(suite::history(*transport, seed, 3, 6, spilling));
    transport->finish();
  }
}

TEST_CASE("spill: rules and histories in the simulator") {
  for (const Layout& l : layouts)
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      INFO(l.ranks << " ranks, " << l.per_node << " per node, " << l.servers << " servers, seed " << seed);
      SimulationOptions o;
      o.ranks = l.ranks;
      o.ranks_per_node = l.per_node;
      o.servers = l.servers;
      o.seed = seed;
      SimulatedDisks disks, more_disks;
      if (seed == 1)
        REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) { suite::run_rules(t, {}, disks.spilling(false)); }));
      REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) {
        if (t.is_server()) return suite::serve_history(t, seed, more_disks.spilling(true));
        suite::history(t, seed, 2, 5, more_disks.spilling(true));
      }));
    }
}

TEST_CASE("spill: rules and histories on threads") {
  for (const Layout& l : layouts) {
    INFO(l.ranks << " ranks, " << l.per_node << " per node, " << l.servers << " servers");
    const ThreadsOptions o{l.ranks, l.per_node, l.servers};
    REQUIRE_NOTHROW(run_threads(o, [](Transport& t) { suite::run_rules(t, {}, roomy); }));
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      REQUIRE_NOTHROW(run_threads(o, [&](Transport& t) {
        if (t.is_server()) return suite::serve_history(t, seed, spilling);
        suite::history(t, seed, 2, 4, spilling);
      }));
  }
}

TEST_CASE("spill: what is given up leaves without being written, what is put since stays") {
  SimulatedDisks disks;
  SimulationOptions o;
  o.ranks = 2;
  REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) {
    suite::Job job(t, {}, disks.spilling(true));
    const ArrayId given_up(0), kept(1);
    for (const int b : {1, 2})
      if (job.rank == 0) job.put(given_up, suite::at(b), suite::of(b)), job.put(kept, suite::at(b), suite::of(10 * b));
    job.barrier();
    job.store->synchronization().discard_values(given_up);
    if (job.rank == 0) {
      job.put(given_up, suite::at(2), suite::of(5));
      for (int statement = 0; statement < 8; ++statement) job.store->fetch().end_statement();
      EXPECT(job.store->monitor().stats().tier.discarded >= 1);
    }
    job.barrier();
    job.get(given_up, suite::at(1), 20);
    EXPECT(suite::refused([&] { job.read(given_up, suite::at(1), 20); }));
    job.get(given_up, suite::at(2), 20);
    EXPECT(job.read(given_up, suite::at(2), 20) == suite::of(5));
    for (const int b : {1, 2}) {
      job.get(kept, suite::at(b), 20);
      EXPECT(job.read(kept, suite::at(b), 20) == suite::of(10 * b));
    }
    job.barrier();
  }));
}

TEST_CASE("spill: a block that could not be read ahead is no value") {
  constexpr double endless = std::numeric_limits<double>::infinity();
  const auto faulty = [](Transport& transport, StoreOptions options) {
    options.spill_every = 1;
    options.make_tiers = [](Transport&) {
      auto space = std::make_shared<SimulatedSpace>(1 << 20, SimulatedSpeed{0, endless, endless});
      TierFaults faults;
      faults.fail_read = 1;
      return TierList{std::make_shared<FaultyTier>(std::make_unique<SimulatedTier>(space, [] { return 0.0; }), faults)};
    };
    return make_block_store(transport, nullptr, options);
  };
  const auto transport = make_loopback();
  suite::Job job(*transport, {}, faulty);
  const ArrayId array(0);
  const BlockIndex fails{1, {1}}, arrives{1, {2}};
  job.put(array, fails, {1, 2, 3, 4});
  job.put(array, arrives, {5, 6, 7, 8});
  job.barrier();
  BlockFetch& fetch = job.store->fetch();
  for (int statement = 0; statement < 4; ++statement) fetch.end_statement();  // both are written, and leave
  REQUIRE(job.store->look_ahead().prefetch(array, fails, 4, job.next()) == Prefetch::started);
  fetch.get(array, arrives, 4, job.next());
  CHECK(fetch.read(array, arrives, 4, job.next())[3] == 8);  // the other one has failed meanwhile
  // As for a failed write, the message names the place.
  CHECK_THROWS_WITH((fetch.get(array, fails, 4, job.next()), fetch.read(array, fails, 4, job.next())),
                    Contains("cannot read blocks from the simulated disk") && Contains("Input/output error"));
}

namespace {

using suite::Values;

constexpr std::int64_t size_read = 1000;  // elements: a millisecond at the speed below
BlockIndex read_at(int i) { return {1, {i}}; }

/// One node with a slow tier; rank 0 has put blocks 1 to `n`, and they have left memory.
class OnSlowTier {
 public:
  OnSlowTier(Transport& transport, std::shared_ptr<SimulatedSpace> space, int n, bool deterministic = false)
      : t(transport), job(transport, options(deterministic), [space](Transport& its, StoreOptions o) {
          o.make_tiers = [space](Transport& own) {
            return TierList{std::make_shared<SimulatedTier>(space, [&own] { return own.now(); })};
          };
          return make_block_store(its, nullptr, o);
        }) {
    for (int i = 1; t.rank() == 0 && i <= n; ++i) job.put(array, read_at(i), Values(size_read, i));
    job.barrier();
    leave();
  }
  /// What is under way ends.
  ~OnSlowTier() { t.charge_compute(1.0); }
  OnSlowTier(const OnSlowTier&) = delete;
  OnSlowTier& operator=(const OnSlowTier&) = delete;
  static StoreOptions options(bool deterministic) {
    StoreOptions o;
    o.spill_every = 1;
    o.deterministic = deterministic;
    return o;
  }
  /// All that is in memory leaves it.
  void leave() {
    for (int statement = 0; statement < 4; ++statement) {
      t.charge_compute(1.0);
      job.store->fetch().end_statement();
    }
    job.meet();
  }
  StoreStats stats() const { return job.store->monitor().stats(); }
  /// Seconds until the values are there.
  double get(int i) {
    const double start = t.now();
    job.store->fetch().get(array, read_at(i), size_read, job.next());
    EXPECT(job.read(array, read_at(i), size_read) == Values(size_read, i));
    return t.now() - start;
  }

  const ArrayId array{0};
  Transport& t;
  suite::Job job;
};

std::shared_ptr<SimulatedSpace> slow_space() {
  return std::make_shared<SimulatedSpace>(1 << 20, SimulatedSpeed{0, 8e6, 8e9});
}

void on_one_node(int ranks, const std::function<void(Transport&)>& body) {
  SimulationOptions o;
  o.ranks = ranks;
  o.ranks_per_node = ranks;
  REQUIRE_NOTHROW(run_simulated(o, body));
}

}  // namespace

TEST_CASE("spill: a get raises the read ahead that it meets, whichever rank has begun it") {
  for (const int ranks : {1, 2}) {
    INFO(ranks << " ranks");
    const auto space = slow_space();
    on_one_node(ranks, [&](Transport& t) {
      constexpr int n = 10;
      OnSlowTier node(t, space, n);
      if (t.rank() == 0)
        for (int i = 1; i <= n; ++i)
          EXPECT(node.job.store->look_ahead().prefetch(node.array, read_at(i), size_read, node.job.next()) ==
                 Prefetch::started);
      node.job.meet();
      // The one that is being read, and this one; without a change of order all ten.
      if (t.rank() == ranks - 1) EXPECT(node.get(n) < 4e-3);
      node.job.meet();
      const StoreStats s = node.stats();
      if (t.rank() == 0) EXPECT(s.tier.prefetches == n && s.tier.demand_reads == 0);
      if (t.rank() == ranks - 1) EXPECT(s.tier.prefetches_late == 1 && s.tier.prefetches_useful == 0);
      node.job.barrier();
    });
  }
}

TEST_CASE("spill: what is added to is read ahead, and what is replaced counts as read in vain") {
  const auto space = slow_space();
  on_one_node(1, [&](Transport& t) {
    OnSlowTier node(t, space, 4);
    BlockLookAhead& ahead = node.job.store->look_ahead();
    for (const int i : {1, 2, 3, 4}) EXPECT(ahead.prefetch_to_change(node.array, read_at(i)) == Prefetch::started);
    EXPECT(ahead.prefetch_to_change(node.array, read_at(1)) == Prefetch::here);
    EXPECT(ahead.prefetch_to_change(node.array, read_at(5)) == Prefetch::here);  // there is none
    node.job.accumulate(node.array, read_at(1), Values(size_read, 1.0));
    EXPECT(node.stats().tier.prefetches_late == 1);
    t.charge_compute(1.0);
    node.job.store->update().scale(node.array, read_at(3), size_read, 2.0, node.job.next());  // the tier is looked at
    node.job.accumulate_later(node.array, read_at(2), Values(size_read, 1.0));
    node.job.put(node.array, read_at(4), Values(size_read, 8.0));
    const StoreStats s = node.stats();
    EXPECT(s.tier.prefetches == 4 && s.tier.demand_reads == 0);
    EXPECT(s.tier.prefetches_late == 2 && s.tier.prefetches_useful == 1 && s.tier.prefetches_useless == 1);
    node.job.barrier();
    const double wanted[] = {2, 3, 6, 8};
    for (int i = 1; i <= 4; ++i) {
      node.job.get(node.array, read_at(i), size_read);
      EXPECT(node.job.read(node.array, read_at(i), size_read) == Values(size_read, wanted[i - 1]));
    }
    node.job.barrier();
  });
}

TEST_CASE("spill: contributions that wait for the barrier need nothing before") {
  const auto space = slow_space();
  on_one_node(1, [&](Transport& t) {
    OnSlowTier node(t, space, 1, true);
    EXPECT(node.job.store->look_ahead().prefetch_to_change(node.array, read_at(1)) == Prefetch::here);
    node.job.accumulate(node.array, read_at(1), Values(size_read, 1.0));
    EXPECT(node.stats().tier.reads == 0);
    node.job.barrier();
    EXPECT(node.stats().tier.demand_reads == 1);
  });
}
