// The suite with blocks that go to a disk and come back whenever they may: nothing else changes.
#include <catch2/catch.hpp>

#include <filesystem>
#include <limits>
#include <map>
#include <mutex>

#include "runtime/base/error.h"
#include "runtime/store/spill/make_tiers.h"
#include "runtime/tier/faulty_tier.h"
#include "runtime/tier/simulated_tier.h"
#include "runtime/transport/loopback.h"
#include "runtime/transport/simulated.h"
#include "runtime/transport/threads.h"
#include "suite.h"

using namespace sial;

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
  CHECK_THROWS_AS((fetch.get(array, fails, 4, job.next()), fetch.read(array, fails, 4, job.next())), EnvironmentError);
}
