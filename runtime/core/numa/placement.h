#pragma once
// Decisions about memory nodes, as functions on values: on which node each rank's arena lies, what the pages of a range
// obey, where the blocks of an array go, and which arena serves when one is full. Nothing here asks the system.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/numa/page_calls.h"
#include "runtime/core/numa/request.h"
#include "runtime/core/numa/topology.h"

namespace sial {

/// The place of a rank. Nodes by their place in NumaTopology::nodes; -1: not known.
struct RankOnNode {
  int near = -1;   // near all processors that it may run on
  int start = -1;  // near the one it runs on now
};

/// The place of the calling thread.
RankOnNode find_rank(const NumaTopology& machine);
/// The place of one of `ranks` ranks that fill a machine evenly, in their order.
RankOnNode spread_rank(const NumaTopology& machine, int rank, int ranks);

/// The placement of the ranks of one machine that share memory.
struct NumaPlacement {
  std::vector<int> node_of_arena;  // places in NumaTopology::nodes; -1: not known
  std::vector<PageRule> arenas;    // what the pages of each arena obey
  PageRule shared;                 // ... of what all ranks read and write: the directory of blocks
};

/// InputError: a rule names a node that the machine does not have, or that this job may not use.
NumaPlacement place(const NumaTopology& machine, const NumaRule& rule, std::span<const RankOnNode> ranks);

/// Throws InputError as place() does; `of`: whose rule it is, for the message.
void check_rule(const NumaTopology& machine, const NumaRule& rule, const std::string& of);

/// The use of a memory node, as DmRT has it (see the README): ideal below a tenth, light below 0.7 of the mean of all
/// nodes, heavy above 1.3 of it.
enum class NodeUse { ideal, light, normal, heavy };
NodeUse node_use(double share, double mean);

/// The arenas in the order in which a rank asks them when `own` has no room: those of its own node; then those of
/// lightly used nodes, of ideal ones, of the others and of heavily used ones, each the nearest first. `used`: share of
/// each arena that is in use.
std::vector<int> fallback_order(const NumaTopology& machine, std::span<const int> node_of_arena, int own,
                                std::span<const double> used);

/// The arena in which a block of an array lies that has a rule of its own; `own` where it is the rank's own choice.
/// `number`: any number of the block that spreads evenly. Blocks are not cut: what is interleaved are whole blocks.
int arena_of_block(const NumaTopology& machine, std::span<const int> node_of_arena, const NumaRule& rule, int own,
                   std::uint64_t number);

}  // namespace sial
