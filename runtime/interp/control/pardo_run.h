#pragma once
// The pardo that runs, and this rank's share of its iterations. The iteration space is numbered with the first listed
// index fastest. Four ways to divide it:
//   dynamic     ranks draw ranges of tuples from the work queue and filter their own with the where clauses
//   cyclic      (static schedule) every rank walks all tuples; the n-th accepted one since the barrier belongs to rank
//               n mod ranks; the counter runs on from pardo to pardo
//   cyclic_raw  as cyclic, counting tuples before the where clauses
//   everywhere  every rank executes everything
// Owned by the machine.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/interp/control/progress_meter.h"
#include "runtime/interp/prefetch/lookahead.h"
#include "runtime/interp/run/registers.h"

namespace sial {

class PardoRun {
 public:
  PardoRun(const RunContext& context, Registers& registers, ProgressMeter& progress);

  bool active() const { return active_; }
  /// In a pardo whose iterations are divided among the ranks.
  bool divided() const { return active_ && mode_ != PardoMode::everywhere; }
  /// An error where a pardo runs already, or has no iterations.
  void begin(std::int32_t loop, Statement here);
  /// Sets the indices to this rank's next tuple; false: there is none.
  bool next();
  bool is_running(std::int32_t loop) const { return active_ && loop_ == loop; }
  /// The where clauses of the pardo have accepted its indices; false: they are another rank's.
  bool accept() { return mode_ != PardoMode::cyclic || counter_++ % workers_ == worker_; }
  void end();
  /// Behind a barrier.
  void begin_phase();

  PardoPosition position() const;
  /// The range that the next draw will return.
  std::optional<IterationRange> reserve() const { return context_.env.queue.reserve(key_, total_); }

 private:
  PardoMode mode_of(const LoopRow& row) const;
  void open_indices(const LoopRow& row, Statement here);
  void decode(std::int64_t tuple);
  void show_progress();

  const RunContext& context_;
  Registers& registers_;
  ProgressMeter& progress_;
  const int workers_, worker_;
  bool active_ = false;
  std::int32_t loop_ = 0;
  PardoMode mode_ = PardoMode::dynamic;
  PardoKey key_;
  std::int64_t total_ = 0, at_ = 0, end_ = 0;  // current chunk: tuples [at, end) are still to come
  std::int64_t chunk_first_ = 0;
  double begun_ = 0;  // when there is a trace
  Statement begin_;
  std::array<std::int32_t, max_rank> lo_{}, hi_{};
  bool decoded_ = false;                 // index values hold tuple at - 1
  std::vector<std::int64_t> instances_;  // per loop, since the last barrier
  std::int64_t counter_ = 0;             // static schedule: accepted iterations since the last barrier
};

}  // namespace sial
