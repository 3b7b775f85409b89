// Decisions about memory nodes on machines that are described.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "runtime/core/base/error.h"
#include "runtime/core/numa/placement.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

NumaTopology machine_of(int nodes) { return described_machine("numa:" + std::to_string(nodes) + " core:4 pu:1"); }

std::vector<RankOnNode> spread(const NumaTopology& machine, int ranks) {
  std::vector<RankOnNode> all;
  for (int r = 0; r < ranks; ++r) all.push_back(spread_rank(machine, r, ranks));
  return all;
}

PageRule prefer(int node) { return {PageRule::Kind::prefer, {node}}; }

}  // namespace

TEST_CASE("ranks fill a machine in their order") {
  const NumaTopology machine = machine_of(4);
  std::vector<int> nodes;
  for (const RankOnNode& rank : spread(machine, 8)) nodes.push_back(rank.near);
  CHECK(nodes == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(spread(machine, 2)[1].near == 2);
  CHECK(spread(machine, 1)[0].near == 0);
}

TEST_CASE("each arena lies near its rank, and what all ranks use is spread over the nodes that have ranks") {
  const NumaTopology machine = machine_of(4);
  const NumaPlacement placement = place(machine, {}, spread(machine, 2));
  CHECK(placement.node_of_arena == std::vector<int>{0, 2});
  CHECK(placement.arenas == std::vector<PageRule>{prefer(0), prefer(2)});
  CHECK(placement.shared == PageRule{PageRule::Kind::interleave, {0, 2}});
  // All on one node: nothing is spread.
  const NumaPlacement together = place(machine, {}, std::vector<RankOnNode>{{1, 1}, {1, 1}});
  CHECK(together.shared == prefer(1));
}

TEST_CASE("a machine with one node is left as it is") {
  const NumaTopology machine = machine_of(1);
  for (const NumaPolicy policy : {NumaPolicy::automatic, NumaPolicy::local, NumaPolicy::off}) {
    const NumaPlacement placement = place(machine, {policy, {}}, spread(machine, 3));
    CHECK(placement.arenas == std::vector<PageRule>(3));
    CHECK(placement.shared == PageRule{});
    CHECK(placement.node_of_arena == std::vector<int>{0, 0, 0});
  }
}

TEST_CASE("a rank that may run anywhere has no near node: only `local` takes the one where it began") {
  const NumaTopology machine = machine_of(2);
  const std::vector<RankOnNode> ranks = {{-1, 1}, {0, 0}};
  const NumaPlacement automatic = place(machine, {}, ranks);
  CHECK(automatic.arenas == std::vector<PageRule>{{}, prefer(0)});
  CHECK(automatic.node_of_arena == std::vector<int>{-1, 0});
  const NumaPlacement local = place(machine, {NumaPolicy::local, {}}, ranks);
  CHECK(local.arenas == std::vector<PageRule>{prefer(1), prefer(0)});
  // Restricted to the processors of one node, it has one.
  const std::vector<int> some = {4, 6};
  CHECK(machine.node_of_cpus(some) == 1);
}

TEST_CASE("interleaved, bound and left alone") {
  const NumaTopology machine = machine_of(4);
  const auto ranks = spread(machine, 4);
  const PageRule all{PageRule::Kind::interleave, {0, 1, 2, 3}};
  const NumaPlacement interleaved = place(machine, {NumaPolicy::interleave, {}}, ranks);
  CHECK(interleaved.arenas == std::vector<PageRule>(4, all));
  CHECK(interleaved.shared == all);
  CHECK(interleaved.node_of_arena == std::vector<int>{-1, -1, -1, -1});
  const NumaPlacement bound = place(machine, {NumaPolicy::bind, {1, 3}}, ranks);
  CHECK(bound.arenas == std::vector<PageRule>(4, {PageRule::Kind::bind, {1, 3}}));
  const NumaPlacement one = place(machine, {NumaPolicy::bind, {3}}, ranks);
  CHECK(one.node_of_arena == std::vector<int>{3, 3, 3, 3});
  const NumaPlacement off = place(machine, {NumaPolicy::off, {}}, ranks);
  CHECK(off.arenas == std::vector<PageRule>(4));
  CHECK(off.shared == PageRule{});
  try {
    place(machine, {NumaPolicy::bind, {2, 4}}, ranks);
    FAIL("there is no node 4");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), Contains("no memory node 4"));
    CHECK_THAT(error.hint(), Contains("0-3"));
  }
}

TEST_CASE("classes of use") {
  CHECK(node_use(0.05, 0.5) == NodeUse::ideal);
  CHECK(node_use(0.05, 0.05) == NodeUse::ideal);
  CHECK(node_use(0.3, 0.5) == NodeUse::light);
  CHECK(node_use(0.5, 0.5) == NodeUse::normal);
  CHECK(node_use(0.7, 0.5) == NodeUse::heavy);
}

TEST_CASE("who serves a full arena: its own node, lightly used nodes, ideal ones, the others; near ones first") {
  NumaTopology machine = machine_of(4);
  const std::vector<int> nodes = {0, 0, 1, 1, 2, 2, 3, 3};
  // Means of nodes: 0.95, 0.4 (light), 0.05 (ideal), 1.0 (heavy); of all 0.6.
  const std::vector<double> used = {1.0, 0.9, 0.4, 0.4, 0.05, 0.05, 1.0, 1.0};
  CHECK(fallback_order(machine, nodes, 0, used) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(fallback_order(machine, nodes, 6, used) == std::vector<int>{6, 7, 2, 3, 4, 5, 0, 1});
  // Of nodes of one class the nearer one comes first, where the machine says which that is.
  const std::vector<double> even(8, 0.5);
  machine.distances = {{1, 3, 2, 1.5}, {3, 1, 2, 2}, {2, 2, 1, 3}, {1.5, 2, 3, 1}};
  CHECK(fallback_order(machine, nodes, 0, even) == std::vector<int>{0, 1, 6, 7, 4, 5, 2, 3});
  // What is not known is asked in a ring.
  const std::vector<int> unknown(4, -1);
  CHECK(fallback_order(machine, unknown, 2, std::vector<double>(4, 0.5)) == std::vector<int>{2, 3, 0, 1});
}

TEST_CASE("blocks of an array that has a rule") {
  const NumaTopology machine = machine_of(2);
  const std::vector<int> nodes = {0, 0, 1, 1};
  const NumaRule interleave{NumaPolicy::interleave, {}}, first{NumaPolicy::bind, {0}};
  std::map<int, int> by_node;
  std::set<int> arenas;
  for (std::uint64_t block = 0; block < 100; ++block) {
    const int arena = arena_of_block(machine, nodes, interleave, 1, block);
    ++by_node[nodes[static_cast<std::size_t>(arena)]];
    arenas.insert(arena);
    // Whoever makes it, it goes to the same node.
    CHECK(nodes[static_cast<std::size_t>(arena_of_block(machine, nodes, interleave, 3, block))] ==
          nodes[static_cast<std::size_t>(arena)]);
    CHECK(arena_of_block(machine, nodes, first, 2, block) < 2);
    CHECK(arena_of_block(machine, nodes, {}, 2, block) == 2);
    CHECK(arena_of_block(machine, nodes, {NumaPolicy::local, {}}, 2, block) == 2);
  }
  CHECK(by_node[0] == 50);
  CHECK(by_node[1] == 50);
  CHECK(arenas == std::set<int>{1, 2, 3});  // its own where the node is its own, and both of the other
  // A node without a rank serves with no arena: the rank's own does.
  CHECK(arena_of_block(machine, std::vector<int>{0, 0}, {NumaPolicy::bind, {1}}, 1, 7) == 1);
}
