#pragma once
// The progress line of the first rank: how far the pardo is that runs, and the serial loops around it. Looks at the
// clock some twenty times a second, however short the iterations are. Does nothing where no progress is shown.

#include <cstdint>
#include <vector>

#include "runtime/core/interp/context/loop_stack.h"
#include "runtime/core/interp/context/run_context.h"

namespace sial {

class ProgressMeter {
 public:
  ProgressMeter(const RunContext& context, const LoopStack& loops) : context_(context), loops_(loops) {}

  void begin_pardo(const LoopRow& row, Statement here);
  void end_pardo() const { context_.hide_progress(); }
  /// An iteration of the pardo begins; whether show() is wanted.
  bool due() { return context_.progress && --look_in_ <= 0; }
  /// `done` of `total`, as far as this rank can tell.
  void show(double done, double total);

  /// The innermost loop, which is serial and outside of pardos, has begun, begins another iteration, or has ended.
  void begin_serial();
  void next_iteration();
  void end_loop() {
    if (times_.size() > loops_.depth()) times_.pop_back();
  }
  /// The loops that are open go on from a checkpoint.
  void go_on() {
    if (context_.progress) times_.assign(loops_.depth(), {});
  }

 private:
  /// When a serial loop and its current iteration began; negative: before a checkpoint.
  struct LoopTimes {
    double begun = -1, iteration_begun = -1;
  };
  JobOutlook outlook() const;

  const RunContext& context_;
  const LoopStack& loops_;
  std::vector<LoopTimes> times_;  // of the outermost loops
  double pardo_begun_ = 0;
  std::int64_t look_in_ = 0, tuples_seen_ = 0;  // until the clock is looked at again; in this pardo by then
};

}  // namespace sial
