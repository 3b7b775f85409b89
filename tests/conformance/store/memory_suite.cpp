// What a rank can do without goes when anybody on its node needs the memory, whatever the rank is doing: so the memory that --dry-run asks for is
// enough on any schedule. Each situation fits only if it does; the laboratory reports ranks that would wait for each other for ever.
#include <catch2/catch.hpp>

#include "runtime/base/placement.h"
#include "runtime/transport/simulated.h"
#include "runtime/transport/threads.h"
#include "suite.h"

namespace sial::suite::memory {

namespace {

constexpr std::int64_t elements = 1000;
constexpr int room = 100, puts = 30;  // blocks: that a rank's memory holds, that come from another node beside 48 that are there

BlockIndex at(int i) { return {1, {i}}; }

StoreOptions scarce() {
  StoreOptions o;
  o.memory_per_rank = room * NodeHeap::chunk_bytes(elements) + (32 << 10);  // and for the directory
  return o;
}

/// The first `n` blocks of an array that lie on the node.
std::vector<int> blocks_of(Job& j, std::int32_t array, int node, int n) {
  std::vector<int> blocks;
  for (int i = 0; static_cast<int>(blocks.size()) < n; ++i)
    if (static_cast<int>(home_of_block(placement_number(j.program, array), at(i), static_cast<std::size_t>(j.transport.node_count()))) == node) blocks.push_back(i);
  return blocks;
}

void put(Job& j, std::int32_t array, const std::vector<int>& blocks) {
  for (const int i : blocks) j.put(array, at(i), suite::of(i, elements));
}

void read(Job& j, std::int32_t array, const std::vector<int>& blocks) {
  for (const int i : blocks) {
    j.get(array, at(i), elements);
    EXPECT(j.read(array, at(i), elements) == suite::of(i, elements));
  }
}

/// As many as are kept with nobody else in need of the memory.
void fill_with_copies(Job& j, int of_node) { read(j, 0, blocks_of(j, 0, of_node, 48)); }

using Body = std::function<void(Job&)>;

/// On nodes of `per_node` ranks, in the laboratory and on threads. Before the body each node has 48 blocks of array 0.
void on_nodes(int nodes, int per_node, double latency, const Body& body) {
  const auto rank_main = [&](Transport& t) {
    Job j(t, scarce());
    if (t.node_rank() == 0) put(j, 0, blocks_of(j, 0, t.node(), 48));
    j.barrier();
    body(j);
    j.barrier();
    j.store->end_program({0, 10});
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    SimulationOptions o;
    o.ranks = nodes * per_node;
    o.ranks_per_node = per_node;
    o.seed = seed;
    o.latency = latency;
    REQUIRE_NOTHROW(run_simulated(o, rank_main));
  }
  INFO("threads");
  REQUIRE_NOTHROW(run_threads({nodes * per_node, per_node, 0}, rank_main));
}

}  // namespace

TEST_CASE("copies give way to puts from other nodes when their rank comes to the store") {
  on_nodes(2, 1, 2e-6, [](Job& j) {
    if (j.rank == 0) {
      fill_with_copies(j, 1);
      j.meet();
      j.transport.charge_compute(1);
      read(j, 0, blocks_of(j, 0, 1, 1));
    } else {
      j.meet();
      put(j, 1, blocks_of(j, 1, 0, puts));
    }
  });
}

TEST_CASE("copies give way while their rank waits for the others") {
  on_nodes(2, 1, 2e-6, [](Job& j) {
    if (j.rank == 0) fill_with_copies(j, 1);
    j.meet();
    if (j.rank == 1) {
      const auto blocks = blocks_of(j, 1, 0, puts);
      put(j, 1, blocks);
      read(j, 1, blocks);  // waits until the owner has taken them
    }
    j.meet();
  });
}

TEST_CASE("copies give way while their rank waits for room of the other one's") {
  on_nodes(2, 1, 2e-6, [](Job& j) {
    fill_with_copies(j, 1 - j.rank);
    j.meet();
    const auto blocks = blocks_of(j, 1, 1 - j.rank, puts);
    put(j, 1, blocks);
    read(j, 1, blocks);
  });
}

TEST_CASE("copies give way to other ranks of the node") {
  on_nodes(2, 2, 2e-6, [](Job& j) {
    if (j.rank == 0) fill_with_copies(j, 1);
    j.meet();
    if (j.rank == 1) {
      std::vector<double*> own;
      for (int i = 0; i < 2 * room - 48 - 20; ++i) own.push_back(j.store->buffers().allocate(elements));
      for (double* p : own) j.store->buffers().deallocate(p, elements);
    }
    j.meet();
  });
}

// A phase that asks for blocks of the others and puts blocks to them: answers find their way past puts that wait for memory.
TEST_CASE("copies that are still on their way give way, too") {
  on_nodes(3, 1, 1e-2, [](Job& j) {
    const int next = (j.rank + 1) % 3;
    for (const int i : blocks_of(j, 0, next, 48)) j.get(0, at(i), elements);
    const auto blocks = blocks_of(j, 1, next, puts);
    put(j, 1, blocks);
    read(j, 1, blocks);
  });
}

TEST_CASE("puts under way take a part of the memory that does not depend on the network") {
  on_nodes(2, 1, 1, [](Job& j) {
    if (j.rank == 0) {
      put(j, 1, blocks_of(j, 1, 1, puts));
      std::vector<double*> own;
      for (int i = 0; i < room - 48 - 5; ++i) own.push_back(j.store->buffers().allocate(elements));
      for (double* p : own) j.store->buffers().deallocate(p, elements);
    }
  });
}

}  // namespace sial::suite::memory
