// Control flow: jumps, procedures, serial loops. A loop's frame remembers which temps its current iteration created;
// they die with the iteration, however it ends.

#include <fmt/format.h>

#include "runtime/base/check.h"
#include "runtime/interp/control/slice_check.h"
#include "runtime/interp/machine.h"

namespace sial {

void Machine::op_halt(const Instruction&) { halted_ = true; }

void Machine::op_jump(const Instruction& in) { pc_ = in.a; }

void Machine::op_jump_unless(const Instruction& in) {
  if (ints_[in.a] == 0) pc_ = in.b;
}

void Machine::op_call(const Instruction& in) {
  // Recursion cannot pass data, so depth this large is a program that never ends.
  if (calls_.size() >= 10000)
    fail(fmt::format("procedure `{}` is called recursively without end", m_->procs[in.a].name),
         "procedures have no locals: use a loop");
  calls_.push_back({pc_, loops_.size()});
  pc_ = m_->procs[in.a].entry;
}

void Machine::op_ret(const Instruction&) {
  const CallFrame frame = calls_.back();
  calls_.pop_back();
  while (loops_.size() > frame.loop_depth) leave_loop();
  pc_ = frame.return_pc;
}

void Machine::op_stop(const Instruction&) {
  fail(fmt::format("program `{}` reached a `stop` statement", m_->program), "`stop` ends the whole job");
}

void Machine::open_index(std::int32_t index, std::int32_t value) {
  SIAL_CHECK(index_value_[index] == unbound_index, "index {} is in use by an enclosing loop of a verified module",
             bound_.indices[index].name);
  index_value_[index] = value;
}

void Machine::op_do_begin(const Instruction& in) {
  const LoopRow& row = m_->loops[in.a];
  const std::int32_t id = row.indices[0];
  const BoundIndex& index = bound_.indices[id];
  if (index.lo > index.hi) {
    pc_ = row.end;
    return;
  }
  if (!index.problem.empty()) [[unlikely]]
    fail(index.problem, index.remedy);
  open_index(id, index.lo);
  loops_.push_back({in.a, id, index.lo, index.hi, temps_.size()});
  if (progress_) time_loop();
  if (slice_check_) slice_check_->open(in.a, calls_.size());
}

void Machine::op_do_next(const Instruction& in) {
  LoopFrame& frame = loops_.back();
  free_temps(frame.temp_mark);
  if (frame.value < frame.hi) {
    index_value_[frame.index] = ++frame.value;
    if (progress_ && loop_times_.size() == loops_.size()) loop_times_.back().iteration_begun = now();
    pc_ = m_->loops[in.a].begin + 1;
  } else {
    leave_loop();
  }
}

void Machine::op_sub_begin(const Instruction& in) {
  const std::int32_t id = m_->loops[in.a].indices[0];
  index_value(bound_.indices[id].parent);  // must be bound
  open_index(id, 1);
  loops_.push_back({in.a, id, 1, subsegments_per_segment, temps_.size()});
  if (progress_) time_loop();
  if (slice_check_) slice_check_->open(in.a, calls_.size());
}

void Machine::op_sub_next(const Instruction& in) { op_do_next(in); }

void Machine::op_where(const Instruction& in) {
  if (ints_[in.a] != 0) return;
  if (slice_check_) slice_check_->filtered(in.b);
  pc_ = m_->loops[in.b].next;
}

void Machine::op_exit_loop(const Instruction&) {
  pc_ = m_->loops[loops_.back().loop].end;
  leave_loop();
}

void Machine::leave_loop() {
  const LoopFrame& frame = loops_.back();
  free_temps(frame.first_temp);
  if (slice_check_) slice_check_->leave(frame.loop);
  const LoopRow& row = m_->loops[frame.loop];
  for (std::int32_t i : row.indices) index_value_[i] = unbound_index;
  if (look_ahead_ && look_ahead_->has_slice(frame.loop)) look_ahead_->leave(frame.loop);
  if (row.kind == LoopKind::pardo) {
    pardo_.active = false;
    if (env_.trace) env_.trace->add(TraceKind::pardo, {sequence_, pardo_.begin_pc}, pardo_.begun, now());
    if (progress_) progress_->end();
  }
  loops_.pop_back();
  if (loop_times_.size() > loops_.size()) loop_times_.pop_back();
}

void Machine::time_loop() {
  if (pardo_.active) return;
  const double t = now();
  loop_times_.push_back({t, t});
}

}  // namespace sial
