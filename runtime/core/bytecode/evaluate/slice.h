#pragma once
// Access slices at work (compiler/plan/README.md). BoundSlice is a slice bound to the numbers of a job, in a compact
// form of its own: it is immutable, refers to the module, and is shared by any number of cursors. SliceCursor carries
// it out on shadow state, apart from the program it belongs to, and tells which blocks the program will get, in order;
// if asked to, also which ones it will put.
// Plain values: copying a cursor copies its state, without allocation once both have the same slice. Used by the run's
// look-ahead and by predictions.
//
// A cursor never asks for what the program would not get: where it cannot know, it leaves out or gives up. Errors of
// the program (overflow, division by zero, a segment out of range) end it silently; the program reports them when it
// gets there.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/base/foreseen_use.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/bytecode/evaluate/control_flow.h"
#include "runtime/core/bytecode/module.h"

namespace sial {

/// Values of an index in a job; of a subindex 1 to 4. Not usable: the job has no such segments.
struct IndexRange {
  std::int32_t lo = 0, hi = -1;
  bool usable = true;
};

/// The dense column-major elements of a static array, which stay where they are while a BoundSlice uses them; null: not
/// to be had, and a cursor that needs one ends.
using StaticElements = std::function<const double*(ArrayId array)>;

/// A block that the program will get or put: instruction, array and block (segment numbers as the store sees them).
struct FetchRequest {
  std::int32_t pc = 0;
  ArrayId array;
  BlockIndex block;
  ForeseenUse use = ForeseenUse::get;
  bool operator==(const FetchRequest&) const = default;
};

/// A get or put in a slice.
struct SliceFetch {
  std::int32_t pc = 0;
  ArrayId array;
  std::int64_t range = 1;  // iterations of the slice's loops around it, before where clauses, procedures included
  ForeseenUse use = ForeseenUse::get;
};

/// The uses that a BoundSlice tells of.
enum class SliceUses { gets, gets_and_puts };

class BoundSlice {
 public:
  /// `slice`: row of module.slices. `ranges`: one per index row. The module must outlive the result. Gets and puts
  /// whose range is a single iteration are left out: there is nothing to look ahead to.
  BoundSlice(const Module& module, std::int32_t slice, std::span<const IndexRange> ranges,
             const StaticElements& statics, SliceUses uses = SliceUses::gets);

  const Module& module() const { return *module_; }
  std::int32_t loop() const { return loop_; }
  bool parallel() const { return parallel_; }
  /// A pardo's iterations hand values on that decide what later ones get: a cursor has to enter exactly the iterations
  /// that the rank runs, in their order, or to be loaded anew.
  bool carries() const { return carries_; }
  /// All gets of the slice, and puts if they are wanted, with those left out for their range; by pc.
  const std::vector<SliceFetch>& fetches() const { return fetches_; }
  /// Nothing to tell of.
  bool empty() const { return empty_; }

 private:
  friend class SliceCursor;
  friend class SliceBinder;
  struct Step {
    Opcode op = Opcode::halt;
    SliceAction action = SliceAction::run;
    ForeseenUse use = ForeseenUse::get;
    std::int32_t a = 0, b = 0, c = 0, d = 0, pc = 0;
  };
  struct Range {
    std::int32_t slots[max_rank] = {}, lo[max_rank] = {}, hi[max_rank] = {}, n = 0;
    bool usable = true;
    LoopPositions positions;  // among the steps
  };
  struct Entry {
    std::int32_t slot = 0, parent = -1;
    bool combined = false;
    std::int32_t lo = 0, hi = -1;
    std::int64_t stride = 0;
  };
  struct Reference {
    ArrayId array;
    std::int32_t rank = 0;
    bool usable = true;
    const double* data = nullptr;
    std::array<Entry, max_rank> entry;
  };

  const Module* module_ = nullptr;
  std::int32_t loop_ = 0;
  bool parallel_ = false, carries_ = false, empty_ = true;
  std::vector<Step> steps_;
  std::vector<Range> loops_;  // the first is the slice's own
  std::vector<Reference> references_;
  std::vector<std::int32_t> ints_, scalars_, indices_;  // real registers and index rows, by shadow slot
  std::vector<SliceFetch> fetches_;
  std::int32_t n_procs_ = 0;  // called ones: how deep calls can go
};

enum class SliceOutcome {
  fetch,      // the program will get or put a block
  done,       // the iteration (of a pardo) or the whole loop (of a serial one) is over
  abandoned,  // the rest of this iteration cannot be known; of a serial loop, the next call goes on with the next
              // iteration
  paused,     // out of budget: call again
  ended,      // nothing more can be known of this loop
};

class SliceCursor {
 public:
  SliceCursor() = default;
  /// In state `ended` until begin() or enter().
  explicit SliceCursor(const BoundSlice& slice);

  /// Takes the program's state: registers, and index values (per index row) of the loops around the slice's own.
  void load(std::span<const std::int32_t> ints, std::span<const double> scalars,
            std::span<const std::int32_t> index_values);

  /// Serial loops, after load(): from the loop's first iteration, or from the beginning of a given one.
  void begin();
  void begin_at(std::int32_t value);

  /// Pardos, after load(): the iteration with these index values (in the order of the loop row). False when a where
  /// clause filters it out, or the cursor has ended.
  bool enter(std::span<const std::int32_t> tuple);

  /// Runs to the next get or put, for at most `budget` steps, which it counts down.
  SliceOutcome next(FetchRequest& request, std::int64_t& budget);

  bool ended() const { return state_ == State::ended; }
  /// Index value of the serial loop's current iteration.
  std::int32_t iteration() const { return value(slice_->loops_.front().slots[0]); }
  const BoundSlice* slice() const { return slice_; }

 private:
  enum class State { idle, running, skip_iteration, ended };
  struct Flow;
  struct Values;

  std::int32_t value(std::int32_t slot) const { return indices_[static_cast<std::size_t>(slot)]; }
  std::int32_t& value(std::int32_t slot) { return indices_[static_cast<std::size_t>(slot)]; }
  bool locate(const BoundSlice::Reference& r, BlockIndex& block) const;
  bool arithmetic(const BoundSlice::Step& s);
  bool element(const BoundSlice::Step& s);
  std::optional<SliceOutcome> leaves(const BoundSlice::Step& s);
  SliceOutcome run(FetchRequest* request, std::int64_t& budget);
  SliceOutcome end() { return state_ = State::ended, SliceOutcome::ended; }

  const BoundSlice* slice_ = nullptr;
  State state_ = State::ended;
  std::int32_t at_ = 0, calls_depth_ = 0;
  std::vector<std::int32_t> ints_, indices_;
  std::vector<double> scalars_;
  std::vector<std::int32_t> calls_;  // where calls go on when they return
};

}  // namespace sial
