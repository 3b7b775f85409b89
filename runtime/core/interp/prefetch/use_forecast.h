#pragma once
// When and how blocks are used next: the gets and puts of the loop that runs and of the loops that follow it, numbered
// in the order in which this rank will probably make them. The store is told the first use of each block that is still
// to come: the block that is used last is the first to leave memory. Does nothing until the store says how far ahead it
// wants to know. A hint: which loops follow (loop_sequence.h), which iterations are the rank's (loop_share.h), and what
// registers will hold by then, are guesses; what is found wrong is dropped when its loop begins or ends.
// Owned by the look-ahead. Each use is foreseen once; a call does a bounded part of that.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/core/base/foreseen_use.h"
#include "runtime/core/base/placement.h"
#include "runtime/core/bytecode/evaluate/slice.h"
#include "runtime/core/interp/prefetch/loop_sequence.h"
#include "runtime/core/interp/prefetch/loop_share.h"
#include "runtime/core/store/interface/look_ahead.h"

namespace sial {

class UseForecast {
 public:
  struct Program {
    /// The bound access slice of a loop that has one; null: it tells of nothing.
    std::function<const BoundSlice*(std::int32_t loop)> slice;
    /// The program's present state goes to a cursor.
    std::function<void(SliceCursor& cursor)> load;
    /// A pardo as if it began now; nothing: it has no iterations.
    std::function<std::optional<UpcomingPardo>(std::int32_t loop)> pardo;
  };
  /// The place in the running loop: the value of a serial loop's index, or the iterations of a pardo that this rank has
  /// drawn.
  struct Place {
    std::int64_t at = 0, end = 0;
  };
  UseForecast(Program program, LoopSequence loops, BlockLookAhead& store);

  /// The program is in the first iteration of this loop.
  void begin(std::int32_t loop, Place place);
  void leave(std::int32_t loop);
  /// The program ends: the store, which still knows its arrays, forgets all that it was told.
  void end() { drop_all(); }
  /// Whether the uses of the loop that runs are foreseen; if not, and the store wants to know them by now, begin_at()
  /// is due.
  bool is_running(std::int32_t loop) const { return running_ && loops_.front().loop == loop; }
  bool is_wanted() const { return store_.horizon() > 0; }
  void begin_at(std::int32_t loop, Place place);
  /// This rank has made a use of the running loop's slice.
  void used(ArrayId array, const BlockIndex& block);
  /// The store was told something else of this block, and keeps `told` of it.
  void tell(ArrayId array, const BlockIndex& block, std::uint64_t told);

 private:
  struct Key {
    ArrayId array;
    BlockIndex block;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return mix_hash(block_hash(k.block), static_cast<std::uint64_t>(k.array.number()));
    }
  };
  static constexpr std::size_t min_reach = 1024, max_reach = std::size_t{1} << 20;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Use {
    std::uint64_t number = 0;
    std::uint32_t next = none;  // of the same block
    ForeseenUse use = ForeseenUse::get;
  };
  struct Block {
    Key key;
    std::uint32_t first = none, last = none;  // uses
    std::uint64_t told = 0;                   // what the store keeps of the first of them
    bool known = false;                       // the store has the block
    bool listed = false;                      // in untold_
  };
  struct Loop {
    std::int32_t loop = 0;
    std::uint64_t first = 0;            // number of its first use
    std::vector<std::uint32_t> blocks;  // of its uses, in order
  };

  void start(std::int32_t loop, const Place* place);
  bool enter_next();
  void foresee(std::int64_t steps);
  void add(const FetchRequest& request);
  void pass_up_to(std::uint64_t number);
  void drop_front();
  void drop_all();
  void tell(std::uint32_t b);
  void tell_again();
  void set_made(std::uint64_t number);
  std::uint32_t block_of(const Key& key);
  std::uint32_t new_use();

  Program p_;
  LoopSequence sequence_;
  BlockLookAhead& store_;
  std::unordered_map<Key, std::uint32_t, Hash> by_key_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_blocks_;
  std::vector<std::uint32_t> untold_;  // blocks that the store did not have when it was to be told; some no longer
  std::vector<Use> uses_;
  std::uint32_t free_uses_ = none;

  std::deque<Loop> loops_;  // the running one first, if one runs
  std::size_t passed_ = 0;  // of the uses of the first loop
  bool running_ = false;
  std::uint64_t made_ = 0;  // uses, by number
  std::uint64_t foreseen_ = 0;
  std::int64_t until_look_ = 0;    // uses until more are foreseen
  std::size_t reach_ = max_reach;  // uses to be foreseen at most: fewer after loops that had not been expected
  // The last loop, while its uses are being foreseen:
  bool open_ = false, inside_ = false;
  SliceCursor cursor_;
  LoopShare share_;
};

}  // namespace sial
