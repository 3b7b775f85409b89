#pragma once
// The place of the abstract interpreter: loops, calls, what data leave open, and the division of pardos. A condition
// that depends on data is taken both ways, one after the other; loops whose index does not matter (effects.h) are
// visited once, with their largest segment. Part of a model.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "runtime/core/bytecode/evaluate/control_flow.h"
#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/interp/order/choose_order.h"
#include "runtime/core/model/memory/indices.h"
#include "runtime/core/model/memory/iteration_share.h"
#include "runtime/core/model/memory/own_blocks.h"
#include "runtime/core/model/memory/registers.h"

namespace sial {

class ModelControl {
 public:
  ModelControl(ModelContext& context, const PlannedRegisters& registers, ModelIndices& indices, ModelOwnBlocks& own,
               IterationShare& share);

  /// The instruction to be carried out; the one after it is the next, until control says otherwise.
  std::int32_t advance();
  std::int32_t at() const { return at_; }
  bool halted() const { return halted_; }
  bool in_loop() const { return !loops_.empty(); }
  /// Data decide whether the present instruction is executed.
  bool uncertain() const { return !uncertain_.empty(); }
  /// Every run that completes its program executes it: neither is it uncertain, nor after an exit or a return that is.
  bool certain() const {
    return uncertain_.empty() && !perhaps_returned_ &&
           std::none_of(loops_.begin(), loops_.end(), [](const Frame& f) { return f.ended_by_data; });
  }

  /// False when it is not an instruction of control.
  bool follow(const Instruction& in);
  /// The counter of the static schedule begins anew.
  void barrier() { cyclic_counter_ = 0; }
  void end_program() { loops_.clear(); }
  /// The orders of pardos' iterations, by loop, where orders are chosen.
  const std::map<std::int32_t, PardoOrder>& orders() const { return orders_; }

 private:
  struct Frame {
    std::int32_t loop = 0;
    int passes = 0;  // still to come, of a loop visited by its largest segment
    bool by_value = false;
    int equal_trips = 0;  // of a loop with phases: trips in a row that left the same behind
    std::uint64_t signature = 0;
    std::int64_t steps_at_trip = 0;
    int trips = 0;
    bool ended_by_data = false;  // an exit was passed over
  };
  struct Uncertain {
    std::int32_t begin = 0, end = 0, skipped_jump = -1;
    std::size_t loop_depth = 0, call_depth = 0;
  };
  struct Range {
    std::int64_t first = 0, last = 0;
  };
  struct Pardo {
    PardoMode mode = PardoMode::dynamic;
    std::int32_t loop = 0;
    std::vector<IndexId> by_value;  // indices that are followed value by value,
    IterationSpace space;           // and their values
    bool collapsed = false;         // others are not
    std::int64_t tuple = 0;
    std::vector<Range> own;  // chunks that the rank draws,
    Range of_node;           // of those of its node
    std::size_t own_at = 0;
  };
  struct Flow;

  void leave_uncertain();
  void take_both(const Instruction& in);
  bool begin_do(std::int32_t loop);
  bool next_do(std::int32_t loop);
  bool is_steady(Frame& frame);
  bool begin_pardo(std::int32_t loop);
  bool pardo_runs(const LoopRow& row) const;
  void follow_indices(const LoopRow& row, const LoopFacts& facts);
  void order(const LoopRow& row);
  void divide();
  bool next_in_pardo();
  bool next_tuple();
  void take_turn();
  void leave_loop();

  ModelContext& context_;
  const PlannedRegisters& registers_;
  ModelIndices& indices_;
  ModelOwnBlocks& own_;
  IterationShare& share_;
  std::int32_t next_, at_;
  bool halted_ = false, perhaps_returned_ = false;
  std::vector<Frame> loops_;
  std::vector<CallFrame> calls_;
  std::set<std::int32_t> followed_;  // procedures, since there are no steps left
  std::vector<Uncertain> uncertain_;
  Pardo pardo_;
  std::map<std::int32_t, PardoOrder> orders_;  // of the pardos, by loop
  std::int64_t cyclic_counter_ = 0;            // of the machine, whose rule it is
};

}  // namespace sial
