#pragma once
// Bytes that move between a node's memory and the tiers below it while a pardo runs in some order: the offline optimum,
// as the store plans with what it knows to come. What leaves memory is the block whose next use is farthest. It is
// written if it has changed; a block that is not there is read, unless it is replaced, or added to for the first time.
// The memory is empty at the beginning, and what it holds at the end is not written. Of a pardo with many accesses some
// blocks, drawn at random but always the same, stand for all in a memory that is as much smaller.

#include <span>

#include "runtime/core/interp/order/recorded_pardo.h"

namespace sial {

/// The order in which a node meets the iterations, by number, when all ranks are equally fast: `ranks` of the node draw
/// chunks of its `share` of iterations and take one after the other in turn.
std::vector<std::int32_t> joint_sequence(std::int32_t share, int ranks);

class PardoTraffic {
 public:
  /// About `most` accesses are looked at. The pardo outlives the object.
  PardoTraffic(const RecordedPardo& pardo, std::span<const std::int32_t> sequence, std::int64_t capacity,
               std::int64_t most);

  /// In this order: in all of the memory, and in an eighth of it.
  struct Bytes {
    double moved = 0, in_an_eighth = 0;
    /// The measure by which orders are compared: of those that move the same, the one with the nearest uses is best, as
    /// it asks least of the store's foresight.
    double rating() const { return moved + in_an_eighth / 8; }
  };
  Bytes bytes(const TupleOrder& order);
  /// The accesses looked at.
  std::int64_t accesses() const { return std::ssize(sample_); }

 private:
  struct Tuple {
    TupleOrder::Counts values{};
    std::int32_t number = 0;           // as written
    std::int32_t first = 0, last = 0;  // in the sample
  };
  struct Block {
    std::int32_t next_use = 0;
    bool here = false, changed = false, known = false;
  };

  std::vector<char> drawn_blocks(std::int64_t most) const;
  void draw(const std::vector<char>& drawn);
  void scale(const std::vector<char>& drawn);
  void arrange(const TupleOrder& order);
  void find_next_uses();
  double replay(std::int64_t capacity);
  double use(const PardoAccess& access, std::int32_t next_use, std::int64_t capacity);
  double make_room(std::int64_t bytes, std::int64_t capacity);

  const RecordedPardo& pardo_;
  std::int64_t capacity_;
  double scale_ = 1;                                          // bytes of all blocks for one of those drawn
  std::vector<std::int32_t> position_;                        // in the sequence, by number; -1: another node's
  std::vector<PardoAccess> sample_;                           // of the blocks drawn, as written
  std::vector<Tuple> tuples_;                                 // that have some of these
  std::vector<std::pair<std::int32_t, std::int32_t>> turns_;  // of the tuples: position, and which
  std::vector<PardoAccess> accesses_;                         // in the order that is looked at,
  std::vector<std::int32_t> next_use_;                        // and where the same block comes next
  std::vector<Block> blocks_;
  std::vector<std::uint64_t> leaving_;  // a heap; blocks that were used since have entries after them
  std::int64_t used_ = 0;
};

}  // namespace sial
