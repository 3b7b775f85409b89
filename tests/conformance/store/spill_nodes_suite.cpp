// The suite with blocks that go to the memory of other nodes and come back whenever they may: nothing else changes. All
// nodes provide to each other at the same time.
#include <catch2/catch.hpp>

#include <filesystem>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/loopback.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/core/transport/threads.h"
#include "suite.h"

using namespace sial;

namespace {

struct Nodes {
  int ranks, per_node, servers;
};
const Nodes all_nodes[] = {{2, 1, 0}, {4, 2, 0}, {3, 1, 0}, {2, 0, 1}, {4, 2, 2}};

constexpr std::uint64_t enough = 1 << 20;

/// What may leave memory leaves it after each statement; `most`: of what a node provides.
suite::StoreMaker providing(std::uint64_t most, bool disk_behind = false) {
  return [=](Transport& transport, StoreOptions options) {
    options.spill_every = 1;
    options.spill = {{TierKind::nodes, "", most}};
    if (disk_behind)
      options.spill.push_back({TierKind::disk, std::filesystem::temp_directory_path().string(), 64 << 20});
    return make_block_store(transport, nullptr, options);
  };
}

std::unique_ptr<BlockStore> with_providers(Transport& transport, StoreOptions options) {
  options.spill = {{TierKind::nodes, "", enough}};
  return make_block_store(transport, nullptr, options);
}

void history_in_simulator(const Nodes& l, std::uint64_t seed, const suite::StoreMaker& make) {
  INFO(l.ranks << " ranks, " << l.per_node << " per node, " << l.servers << " servers, seed " << seed);
  SimulationOptions o;
  o.ranks = l.ranks;
  o.ranks_per_node = l.per_node;
  o.servers = l.servers;
  o.seed = seed;
  REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) {
    if (t.is_server()) return suite::serve_history(t, seed, make);
    suite::history(t, seed, 2, 5, make);
  }));
}

}  // namespace

TEST_CASE("spill to nodes: there must be another node") {
  const auto transport = make_loopback();
  CHECK_THROWS_AS(with_providers(*transport, {}), EnvironmentError);
}

TEST_CASE("spill to nodes: nodes that compute provide what they are told") {
  SimulationOptions o;
  o.ranks = 2;
  o.ranks_per_node = 1;
  const auto unlimited = [](Transport& t) {
    StoreOptions options;
    options.spill = {{TierKind::nodes, "", 0}};
    make_block_store(t, nullptr, options);
  };
  CHECK_THROWS_AS(run_simulated(o, unlimited), EnvironmentError);
  o.servers = 1;
  CHECK_NOTHROW(run_simulated(o, unlimited));
}

TEST_CASE("spill to nodes: rules in the simulator") {
  for (const Nodes& l : all_nodes) {
    INFO(l.ranks << " ranks, " << l.per_node << " per node, " << l.servers << " servers");
    SimulationOptions o;
    o.ranks = l.ranks;
    o.ranks_per_node = l.per_node;
    o.servers = l.servers;
    REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) { suite::run_rules(t, {}, with_providers); }));
  }
}

TEST_CASE("spill to nodes: histories in the simulator") {
  for (const Nodes& l : all_nodes)
    for (std::uint64_t seed = 1; seed <= 20; ++seed) history_in_simulator(l, seed, providing(enough));
}

TEST_CASE("spill to nodes: histories where providers are full, with a disk behind") {
  for (const Nodes& l : all_nodes)
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      history_in_simulator(l, seed, providing(1));  // not a byte
      history_in_simulator(l, seed, providing(3000 * seed));
      history_in_simulator(l, seed, providing(3000 * seed, true));
    }
}

TEST_CASE("spill to nodes: histories on threads") {
  for (const Nodes& l : all_nodes) {
    INFO(l.ranks << " ranks, " << l.per_node << " per node, " << l.servers << " servers");
    const ThreadsOptions o{l.ranks, l.per_node, l.servers};
    REQUIRE_NOTHROW(run_threads(o, [](Transport& t) { suite::run_rules(t, {}, with_providers); }));
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      REQUIRE_NOTHROW(run_threads(o, [&](Transport& t) {
        const auto make = providing(seed % 2 ? enough : 10000, seed == 4);
        if (t.is_server()) return suite::serve_history(t, seed, make);
        suite::history(t, seed, 2, 4, make);
      }));
  }
}
