#pragma once
// The observers of a program's loops: look-ahead, which carries access slices out ahead of it, and the check that
// carries them out beside it. Neither changes what the program computes. Owned by the machine; both see its
// registers.

#include <memory>

#include "runtime/core/interp/blocks/statics.h"
#include "runtime/core/interp/control/pardo_run.h"
#include "runtime/core/interp/control/slice_check.h"
#include "runtime/core/interp/prefetch/cache_prefetch.h"
#include "runtime/core/interp/prefetch/lookahead.h"

namespace sial {

class LoopHooks {
 public:
  LoopHooks(const RunContext& context, const Registers& registers, const Position& position, const LoopStack& loops,
            PardoRun& pardo, const Statics& statics);
  /// Once the store knows the program, and the device prefetch is there.
  void begin_look_ahead(DevicePrefetch* to_device);

  /// A loop has been opened; its indices' values are accepted, or filtered out by a where clause; an iteration of a
  /// pardo is over; the loop is about to be left.
  void opened(std::int32_t loop) {
    if (check_) check_->open(loop, loops_.calls().size());
  }
  void iteration(std::int32_t loop) {
    if (check_) check_->iteration(loop);
    if (look_ahead_ && look_ahead_->has_slice(loop)) look_ahead_->iteration(loop);
  }
  void filtered(std::int32_t loop) {
    if (check_) check_->filtered(loop);
  }
  void iteration_over(std::int32_t loop) {
    if (check_) check_->iteration_over(loop);
  }
  void left(std::int32_t loop) {
    if (check_) check_->leave(loop);
    if (look_ahead_ && look_ahead_->has_slice(loop)) look_ahead_->leave(loop);
  }
  /// Before the program gets or puts a block, and after that.
  void before_get(Statement here, ArrayId array, const BlockIndex& block) {
    if (check_ && check_->active()) check_use(here, array, block);
  }
  void after_get(Statement here, ArrayId array, const BlockIndex& block) {
    if (look_ahead_) look_ahead_->get(here.pc, array, block);
  }
  void before_put(Statement here, ArrayId array, const BlockIndex& block) {
    if (!check_ || !check_->active()) return;
    check_use(here, array, block);
    check_->put(array, block);
  }
  void after_put(Statement here, ArrayId array, const BlockIndex& block) {
    if (look_ahead_) look_ahead_->put(here.pc, array, block);
  }
  void barrier() {
    if (look_ahead_) look_ahead_->barrier();
  }
  /// Before the store forgets the program.
  void end() {
    if (look_ahead_) look_ahead_->end();
  }
  void add_to(Stats& stats) const;

 private:
  void check_use(Statement here, ArrayId array, const BlockIndex& block);
  bool cache_prefetch_pays() const;

  const RunContext& context_;
  const Registers& registers_;
  const LoopStack& loops_;
  PardoRun& pardo_;
  const Statics& statics_;
  std::unique_ptr<SliceCheck> check_;  // with --check
  std::unique_ptr<CachePrefetcher>
      cache_prefetch_;                     // without a device, where blocks go into the cache before their use
  std::unique_ptr<LookAhead> look_ahead_;  // where blocks lie on other nodes, go to a device or into the cache, and the
                                           // program has slices
};

}  // namespace sial
