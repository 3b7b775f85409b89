#pragma once
// --check: carries out access slices beside the program and compares. What a slice foresees must be, use by use, what
// the program gets and puts, up to where the slice gives up; a difference is a bug of the compiler and stops the run.
// Owned by its machine, which tells it where it is; sees the machine's state through the spans it is given.

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "runtime/core/bytecode/evaluate/slice.h"

namespace sial {

class SliceCheck {
 public:
  /// The machine's registers and index values; they stay where they are.
  struct Program {
    const Module& module;
    const std::vector<std::int32_t>& ints;
    const std::vector<double>& scalars;
    const std::vector<std::int32_t>& index_values;
    std::vector<IndexRange> ranges;
    StaticElements statics;
  };
  explicit SliceCheck(Program program);

  /// A loop has been opened, at that depth of calls.
  void open(std::int32_t loop, std::size_t calls);
  /// The iteration of the loop that its indices name is carried out, or filtered out by a where clause.
  void iteration(std::int32_t loop);
  void filtered(std::int32_t loop);
  /// Whether use() wants to know of a get or put at this instruction; `calls` are the call instructions that are open.
  bool follows(std::int32_t pc, const std::vector<std::int32_t>& calls) const;
  bool active() const { return loop_ >= 0; }
  void use(std::int32_t pc, ArrayId array, const BlockIndex& block);
  /// This rank puts a block: a later get of it in the loop must not be one that the slice asks for.
  void put(ArrayId array, const BlockIndex& block);
  /// An iteration of a pardo is over; the loop is left.
  void iteration_over(std::int32_t loop);
  void leave(std::int32_t loop);
  std::int64_t compared() const { return compared_; }

 private:
  SliceOutcome pull(FetchRequest& request);
  void expect_nothing(const char* when);
  std::string text(ArrayId array, const BlockIndex& block) const;

  Program p_;
  std::vector<std::int32_t> slice_of_loop_;        // -1: none
  std::vector<std::optional<BoundSlice>> slices_;  // bound when first entered
  std::int32_t loop_ = -1;                         // whose slice is followed
  std::size_t calls_ = 0;
  SliceCursor cursor_;
  bool abandoned_ = false, in_iteration_ = false;
  std::int64_t compared_ = 0;
  std::set<std::pair<ArrayId, BlockIndex>> put_;  // in the loop that is followed
};

}  // namespace sial
