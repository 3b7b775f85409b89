#pragma once
// Bytes that move between a node's memory and the tiers below it while a pardo runs in some order: the offline optimum,
// as the store plans with what it knows to come. What leaves memory is the block whose next use is farthest. It is
// written if it has changed; a block that is not there is read, unless it is replaced, or added to for the first time.
// The memory is empty at the beginning, and what it holds at the end is not written.

#include <span>

#include "runtime/interp/order/recorded_pardo.h"

namespace sial {

/// In which order a node meets the iterations, by number, when all ranks are equally fast: `ranks` of the node draw
/// chunks of its `share` of iterations and take one after the other in turn.
std::vector<std::int32_t> joint_sequence(std::int32_t share, int ranks);

class TierTraffic {
 public:
  /// The arguments outlive the object.
  TierTraffic(const RecordedPardo& pardo, std::span<const std::int32_t> sequence, std::int64_t capacity);

  /// In this order.
  double bytes(const TupleOrder& order);

 private:
  struct Block {
    std::int32_t next_use = 0;
    bool here = false, changed = false, known = false;
  };

  void arrange(const TupleOrder& order);
  void find_next_uses();
  double use(const BlockAccess& access, std::int32_t next_use);
  double make_room(std::int64_t bytes);

  const RecordedPardo& pardo_;
  const std::span<const std::int32_t> sequence_;
  const std::int64_t capacity_;
  std::vector<BlockAccess> accesses_;    // in the order that is looked at,
  std::vector<std::int32_t> next_use_;   // and where the same block comes next
  std::vector<Block> blocks_;
  std::vector<std::uint64_t> leaving_;   // a heap; blocks that were used since have entries behind them
  std::int64_t used_ = 0;
};

}  // namespace sial
