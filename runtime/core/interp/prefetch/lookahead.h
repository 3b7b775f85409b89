#pragma once
// Look-ahead (runtime/core/interp/LOOK_AHEAD.md): carries the access slice of the loop that is running out ahead of the
// program, and asks the store for the blocks whose gets are still to come, the nearest first. Where blocks lie in tiers
// it follows puts, too: what they add to is read ahead. A hint to the store and to the device: no result depends on it.
// The uses that the slice foresees and those of the program are compared one by one; where they part (another rank took
// iterations of a pardo that were set aside, a procedure left early) the slice is loaded anew at the next iteration.
// Owned by its machine, which tells it where it is; sees the machine's state through Program. Work per call is bounded.
//
// Blocks that are here go to the device, where there is one, as many gets ahead as are fetched ahead; else those of the
// next gets may go into the cache.
//
// A program's own get always goes first: look-ahead acts after gets and puts, and at the beginning of iterations after
// the first.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/bytecode/evaluate/slice.h"
#include "runtime/core/interp/prefetch/cache_prefetch.h"
#include "runtime/core/interp/prefetch/device_prefetch.h"
#include "runtime/core/interp/prefetch/use_forecast.h"
#include "runtime/core/store/interface/look_ahead.h"
#include "runtime/core/store/interface/monitor.h"
#include "runtime/core/transport/work_queue.h"

namespace sial {

/// A rank's place in the pardo that runs: it executes tuple `at` - 1, its own tuples up to `end` are still to come.
struct PardoPosition {
  PardoMode mode = PardoMode::dynamic;
  std::int64_t at = 0, end = 0;
  std::int64_t counter = 0;  // of the cyclic ways, for the next tuple
  int workers = 1, worker = 0;
  IterationSpace space;
};

struct LookAheadDepth;

class LookAhead {
 public:
  /// The machine's registers and index values; they stay where they are.
  struct Program {
    const Module& module;
    const std::vector<std::int32_t>& ints;
    const std::vector<double>& scalars;
    const std::vector<std::int32_t>& index_values;
    std::vector<IndexRange> ranges;
    StaticElements statics;
    std::function<std::int64_t(ArrayId array, const BlockIndex& block)> elements;
    std::function<PardoPosition()> pardo;
    std::function<std::optional<UpcomingPardo>(std::int32_t loop)> upcoming_pardo;  // nothing: it has no iterations
    /// The range that the pardo's next draws will return, of `least` iterations where there are so many.
    std::function<std::optional<IterationRange>(std::int64_t least)> reserve;
    std::function<double()> now;
    std::int32_t sequence;                // of the program in the job, for statistics
    bool remote = true;                   // blocks lie on other nodes, too
    bool tiers = false;                   // they may leave memory for tiers
    DevicePrefetch* to_device = nullptr;  // where blocks go to a device; null: they do not
    CachePrefetcher* to_cache = nullptr;  // where they go near; null: they do not
  };
  LookAhead(Program program, BlockLookAhead& store, const StoreMonitor& monitor, LookAheadDepth depth);

  bool has_slice(std::int32_t loop) const { return slice_of_loop_[static_cast<std::size_t>(loop)] >= 0; }
  // For loops that have one:
  void iteration(std::int32_t loop);  // its indices' present values are accepted
  void leave(std::int32_t loop);
  /// After the store has been told of the get.
  void get(std::int32_t pc, ArrayId array, const BlockIndex& block);
  /// After a put, or after it has been set aside.
  void put(std::int32_t pc, ArrayId array, const BlockIndex& block) {
    if (in_tiers_) used(pc, array, block);
  }
  /// All that was foreseen is void: it was before a barrier.
  void barrier() { stop(); }
  /// Before the store forgets the program.
  void end() {
    stop();
    if (forecast_) forecast_->end();
  }

  int depth() const { return depth_; }

 private:
  struct Foreseen {
    FetchRequest request;
    std::int64_t elements = 0;
    std::int64_t turn = 0;     // iteration of the slice's loop
    std::int64_t number = 0;   // in the order in which they are foreseen
    std::int64_t offered = 0;  // bytes that prefetching it takes, as far as is known
    bool asked = false;        // a prefetch is on its way, or there
    std::uint64_t told = 0;    // what the store keeps of it, as told from here
    bool done = false;         // all is done for it on the device, or with the cache
  };
  struct Turn {
    std::int64_t number = 0, tuple = 0;
  };

  void record_tiers();
  void start(std::int32_t loop);
  void stop() {
    loop_ = -1;
    if (tells_) drop_first(foreseen_.size());
  }
  void used(std::int32_t pc, ArrayId array, const BlockIndex& block);
  void pass(ArrayId array, const BlockIndex& block);
  void load();
  void begin_here();
  void drop_before(std::int64_t turn);
  bool produce(std::int64_t& steps);
  bool enter_next();
  bool next_tuple(std::int64_t& tuple);
  bool is_replaced_before(const Foreseen& use) const;
  Prefetch request(const Foreseen& foreseen);
  bool ask(Foreseen& foreseen);
  void drop_first(std::size_t n);
  void prefetch_to_device();
  void prefetch_to_cache();
  void advance();
  void adapt();
  bool parallel() const { return cursor_.slice()->parallel(); }
  std::int64_t present_tuple() const;
  UseForecast::Place place() const;
  const BoundSlice& bound(std::int32_t loop);

  Program p_;
  BlockLookAhead& store_;
  const StoreMonitor& monitor_;
  bool automatic_;
  bool tells_ = false;  // of the next uses, as several ranks share the loop's iterations and the forecast guesses which
  int depth_;
  std::int64_t gets_in_a_fetch_ = 0;  // that a rank passes while a block comes; 0: not yet known
  std::size_t max_foreseen_;          // where blocks lie on this node only, nothing else limits how far ahead it goes
  std::vector<std::int32_t> slice_of_loop_;
  std::vector<std::optional<BoundSlice>> slices_;
  std::optional<UseForecast> forecast_;  // with tiers
  bool in_tiers_ = false;                // blocks have left memory: before that there is nothing to read ahead

  std::int32_t loop_ = -1;  // whose slice runs ahead; -1: none
  SliceCursor cursor_;
  std::int64_t iterations_ = 0;           // of that loop, begun by the program
  std::deque<Foreseen> foreseen_;         // gets and puts that are foreseen and not made yet, in order
  std::deque<const Foreseen*> replaces_;  // those that replace a block
  std::int64_t n_foreseen_ = 0;           // so far
  std::size_t asked_ = 0;                 // of them, prefetched
  std::size_t next_ = 0;                  // the first of them that has not been offered to the store
  std::int64_t offered_bytes_ = 0;        // of those before next_
  // Serial loops: a turn is the value of the loop's index. Pardos: turns are counted, and each belongs to a tuple.
  std::deque<Turn> turns_;                       // entered ahead and not begun by the program
  std::int64_t turn_ = 0, present_turn_ = 0;     // the last one entered, and the program's
  bool inside_ = false;                          // the cursor is inside of a pardo's iteration
  std::int64_t at_ = 0, end_ = 0, counter_ = 0;  // tuples still to be entered; their cyclic count
  bool drained_ = false;                         // nothing more to set aside, as far as is known

  // The measures that the depth follows, over the last gets:
  std::int64_t gets_ = 0, late_ = 0, useless_ = 0, block_bytes_ = 0;
  double since_ = 0, waited_ = 0;
};

}  // namespace sial
