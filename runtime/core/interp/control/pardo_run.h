#pragma once
// The pardo that runs, and this rank's share of its iterations (bytecode/evaluate/iteration_space.h has the ways to
// divide them). Owned by the machine.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "runtime/core/base/iteration_shares.h"
#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/interp/context/registers.h"
#include "runtime/core/interp/control/progress_meter.h"
#include "runtime/core/interp/order/pardo_orders.h"
#include "runtime/core/interp/prefetch/lookahead.h"
#include "runtime/core/interp/prefetch/loop_share.h"

namespace sial {

class PardoRun {
 public:
  PardoRun(const RunContext& context, Registers& registers, ProgressMeter& progress);

  bool active() const { return active_; }
  /// In a pardo whose iterations are divided among the ranks.
  bool divided() const { return active_ && mode_ != PardoMode::everywhere; }
  /// False: a range is empty, and no pardo has begun. An error where one runs already.
  bool begin(std::int32_t loop, Statement here);
  /// Sets the indices to this rank's next tuple; false: there is none.
  bool next();
  bool is_running(std::int32_t loop) const { return active_ && loop_ == loop; }
  /// The where clauses of the pardo have accepted its indices; false: they are another rank's.
  bool accept() { return mode_ != PardoMode::cyclic || mine(); }
  void end();
  /// After a barrier.
  void begin_phase();

  PardoPosition position() const;
  /// A pardo as if it began now; nothing: it has no iterations.
  std::optional<UpcomingPardo> upcoming(std::int32_t loop);
  const PardoOrders& orders() const { return orders_; }
  /// The range that the next draw will return.
  std::optional<IterationRange> reserve(std::int64_t least) const {
    return context_.env.queue.reserve(key_, candidates(), least);
  }

 private:
  Candidates candidates() const { return {space_.size(), context_.module.loops[loop_].n_wheres}; }
  PardoMode mode_of(const LoopRow& row) const;
  bool mine() { return cyclic_owner(counter_, workers_) == worker_; }
  bool is_empty(const LoopRow& row, Statement here);
  void open_indices(const LoopRow& row, Statement here);
  void arrange(IterationSpace& space, PardoMode mode, std::int32_t loop);
  void decode(std::int64_t tuple);
  void show_progress();

  const RunContext& context_;
  Registers& registers_;
  ProgressMeter& progress_;
  PardoOrders orders_;
  const int workers_, worker_, worker_nodes_;
  bool active_ = false;
  std::int32_t loop_ = 0;
  PardoMode mode_ = PardoMode::dynamic;
  PardoKey key_;
  std::int64_t at_ = 0, end_ = 0;  // current chunk: tuples [at, end) are still to come
  std::int64_t chunk_first_ = 0;
  double begun_ = 0;  // when there is a trace
  Statement begin_;
  IterationSpace space_;
  std::int64_t follow_to_ = 0;           // the indices' values lead on to the tuples before it
  std::vector<std::int64_t> instances_;  // per loop, since the last barrier
  std::set<IndexId> told_empty_;
  std::int64_t counter_ = 0;  // static schedule: accepted iterations since the last barrier
};

}  // namespace sial
