// The suite with blocks that go to a disk and come back whenever they may: nothing else changes.
#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <mutex>

#include "runtime/store/spill/make_tiers.h"
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
  options.spill_eagerly = true;
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
      options.spill_eagerly = eagerly;
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
