#pragma once
// On which memory node (NUMA node) of this machine a block lies, as far as the store decides it: the node of the arena
// that it is taken from. Arrays may have rules of their own (`[memory.numa]`); all other blocks lie in the arena of the
// rank that makes them. Made by all ranks of a node alike. Threads: set_array() on the rank's thread while no block of
// the array is in use, the rest on any.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/memory/node_heap.h"
#include "runtime/core/numa/placement.h"
#include "runtime/core/store/directory/directory.h"

namespace sial {

class BlockPlacement {
 public:
  /// One memory node, no rules.
  BlockPlacement() = default;
  BlockPlacement(std::shared_ptr<const NumaTopology> machine, NumaPlacement placement, NumaRequest request);

  /// The running program calls the array so.
  void set_array(std::uint64_t number, const std::string& name);
  /// The arena from which a block of the array is taken by the rank of arena `own`; `own` where no rule says otherwise.
  int arena_for(const BlockKey& key, int own) const;
  /// Whether a value that lies in `arena` is where the rule of its array wants it.
  bool fits(const BlockKey& key, int arena) const;
  /// Both are on one memory node, or it is not known that they are not.
  bool same_node(int arena, int other) const {
    return !several_ || node_of_arena_[static_cast<std::size_t>(arena)] < 0 ||
           node_of_arena_[static_cast<std::size_t>(other)] < 0 ||
           node_of_arena_[static_cast<std::size_t>(arena)] == node_of_arena_[static_cast<std::size_t>(other)];
  }
  std::vector<int> fallback_arenas(int own, std::span<const double> used) const;
  /// Ranks of this node run near different memory nodes.
  bool several_nodes() const { return several_; }

 private:
  const NumaRule* rule_of(std::uint64_t array) const;

  std::shared_ptr<const NumaTopology> machine_;
  std::vector<int> node_of_arena_;
  NumaRequest request_;
  bool several_ = false;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, const NumaRule*> rules_;  // of request_
};

/// `placement`: null where all memory is near all ranks.
inline int arena_for(const BlockPlacement* placement, const BlockKey& key, int own) {
  return placement ? placement->arena_for(key, own) : own;
}

}  // namespace sial
