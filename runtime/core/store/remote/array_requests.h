#pragma once
// Requests about whole arrays and generations, to this node's directory or to other homes, and blocks copied out of and
// into them past all rules of phases. Keeps nothing. Used by the rank's thread; waits for answers.

#include <optional>
#include <span>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/leased_values.h"
#include "runtime/core/store/directory/directory.h"
#include "runtime/core/store/remote/outgoing_puts.h"

namespace sial {

class ArrayRequests {
 public:
  ArrayRequests(StoreContext& context, Directory& directory, OutgoingPuts& puts, bool is_home)
      : context_(context), directory_(directory), puts_(puts), is_home_(is_home) {}

  // --- generations
  /// Tells servers in this rank's charge what the program's arrays are called.
  void announce_arrays();
  /// Drops generations on all nodes in this rank's charge.
  void drop(std::span<const BlockKey> keys);
  /// Gives a generation to another as well, or altogether, on all nodes in this rank's charge.
  void transfer(const BlockKey& from, std::uint64_t to_array, std::uint32_t to_generation, bool move);
  void apply_contributions();
  /// This rank has left a generation for good.
  void advance(std::uint64_t array, std::uint32_t generation);
  /// The memory comes free when the last rank gets here. Those that are early would fill the node beyond what the
  /// program needs if they went on at once; but they only yield, they do not insist: a rank that never comes is
  /// found out at the barrier.
  void wait_until_freed(std::uint64_t array, std::uint32_t generation);

  // --- bulk access
  std::vector<BlockIndex> share_of_blocks(std::uint64_t array, std::uint32_t generation) const;
  /// None where there is no such block; one of a subindex may have no elements.
  std::optional<std::vector<double>> copy_of_block(const BlockKey& key, std::uint64_t placement) const;
  /// The same by reference, where the block lies in this node's memory and cannot leave it.
  std::optional<LeasedValues> hold_block(const BlockKey& key, std::uint64_t placement) const;
  void set_block(const BlockKey& key, std::uint64_t placement, std::span<const double> data);
  /// Whether two names stand for one value, bit by bit.
  bool are_same(const BlockKey& a, std::uint64_t placement_a, const BlockKey& b, std::uint64_t placement_b) const;

 private:
  void control(NodeId node, RequestHeader request);
  std::vector<ListedBlock> list(NodeId node, std::uint64_t array, std::uint32_t generation) const;

  StoreContext& context_;
  Directory& directory_;
  OutgoingPuts& puts_;
  const bool is_home_;
};

}  // namespace sial
