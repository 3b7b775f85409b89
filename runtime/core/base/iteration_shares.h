#pragma once
// The division of the iterations of a parallel loop among ranks: the rules of the work queue and of the static
// schedule, which predictions follow, too. Iterations are numbered from 0.

#include <algorithm>
#include <cstdint>

namespace sial {

/// Dynamic schedule: iterations before those of a node, whose queue gets its ranks' share. `ranks_before`: on the nodes
/// before it.
constexpr std::int64_t share_before(std::int64_t total, std::int64_t ranks, std::int64_t ranks_before) {
  return total / ranks * ranks_before + total % ranks * ranks_before / ranks;
}

/// Iterations that where clauses are still to filter.
struct Candidates {
  constexpr Candidates(std::int64_t all, int where_clauses = 0) : total(all), wheres(where_clauses) {}
  std::int64_t total;
  int wheres;
};

/// Dynamic schedule: how many of `left` iterations a node's queue hands out at once (guided self-scheduling): large
/// chunks at first, single iterations at the end.
constexpr std::int64_t guided_chunk(std::int64_t left, std::int64_t ranks_of_node) {
  return std::min(left, std::max<std::int64_t>(1, left / (2 * ranks_of_node)));
}

/// Dynamic schedule: how many of `left` iterations of its node a rank sets aside: a chunk, or `least` where that is
/// more and its part of them.
constexpr std::int64_t chunk_to_set_aside(std::int64_t left, std::int64_t ranks_of_node, std::int64_t least) {
  return std::max(guided_chunk(left, ranks_of_node), std::min(least, left / ranks_of_node));
}

/// Dynamic schedule: how many iterations of what it has set aside a rank begins at once; of the others ranks without
/// work may take some. `left`: of the node's, those included. A where clause such as `where a <= b` accepts half of all
/// iterations, but all of some chunks and none of others: a chunk may be several times a rank's part of the work.
constexpr std::int64_t piece_to_begin(std::int64_t set_aside, std::int64_t left, std::int64_t ranks_of_node,
                                      int wheres) {
  return std::min(set_aside, std::max<std::int64_t>(1, guided_chunk(left, ranks_of_node) >> std::clamp(wheres, 0, 8)));
}

/// Dynamic schedule: whether a rank without work may ask another node for some, as often as max_asked in a pardo. The
/// nodes have about equal work, and others end soon, too: questions that bring nothing may take a sixteenth of the time
/// that has passed since its first pardo. `in_vain`: seconds that they took so far; one takes `round_trip`.
constexpr int max_asked = 8;  // all nodes of a large machine would cost more than the imbalance that is left
constexpr double asking_part = 1.0 / 16;
constexpr bool may_ask(double in_vain, double round_trip, double passed) {
  return in_vain == 0 || in_vain + round_trip <= asking_part * passed;
}

/// Static schedule: the rank whose turn the next iteration is; counts it.
constexpr int cyclic_owner(std::int64_t& counter, int ranks) { return static_cast<int>(counter++ % ranks); }

}  // namespace sial
