#include "runtime/interp/control/control_handlers.h"

#include <fmt/format.h>

namespace sial {

ControlHandlers::ControlHandlers(const RunContext& context, Registers& registers, Position& position, LoopStack& loops,
                                 ProgressMeter& progress, PardoRun& pardo, LoopHooks& hooks, OwnBlocks& own,
                                 Profile& profile, Barrier& barrier)
    : context_(context),
      registers_(registers),
      position_(position),
      loops_(loops),
      progress_(progress),
      pardo_(pardo),
      hooks_(hooks),
      own_(own),
      profile_(profile),
      barrier_(barrier) {}

void ControlHandlers::op_call(const Instruction& in, Statement here) {
  // Recursion cannot pass data, so depth this large is a program that never ends.
  if (loops_.calls().size() >= 10000)
    context_.fail(here,
                  fmt::format("procedure `{}` is called recursively without end", context_.module.procs[in.a].name),
                  "procedures have no locals: use a loop");
  loops_.call(position_.next_pc());
  position_.jump(context_.module.procs[in.a].entry);
}

void ControlHandlers::op_ret(const Instruction&, Statement) {
  const CallFrame frame = loops_.take_call();
  while (loops_.depth() > frame.loop_depth) leave_loop();
  position_.jump(frame.return_pc);
}

void ControlHandlers::op_stop(const Instruction&, Statement here) {
  context_.fail(here, fmt::format("program `{}` reached a `stop` statement", context_.module.program),
                "`stop` ends the whole job");
}

void ControlHandlers::open_serial(std::int32_t loop, std::int32_t index, std::int32_t lo, std::int32_t hi) {
  registers_.open_index(index, lo);
  loops_.push({loop, index, lo, hi, own_.temp_count()});
  if (!pardo_.active()) progress_.begin_serial();
  hooks_.opened(loop);
}

void ControlHandlers::op_do_begin(const Instruction& in, Statement here) {
  const LoopRow& loop = row(in.a);
  const std::int32_t id = loop.indices[0];
  const BoundIndex& index = context_.bound.indices[id];
  if (index.lo > index.hi) {
    position_.jump(loop.end);
    return;
  }
  if (!index.problem.empty()) [[unlikely]]
    context_.fail(here, index.problem, index.remedy);
  open_serial(in.a, id, index.lo, index.hi);
}

void ControlHandlers::op_do_next(const Instruction& in, Statement) {
  LoopFrame& frame = loops_.innermost();
  own_.free_temps(frame.temp_mark);
  if (frame.value < frame.hi) {
    registers_.set_index(frame.index, ++frame.value);
    progress_.next_iteration();
    position_.jump(row(in.a).begin + 1);
  } else {
    leave_loop();
  }
}

void ControlHandlers::op_sub_begin(const Instruction& in, Statement here) {
  const std::int32_t id = row(in.a).indices[0];
  registers_.index_value(context_.bound.indices[id].parent, here);  // must be bound
  open_serial(in.a, id, 1, subsegments_per_segment);
}

void ControlHandlers::op_pardo_begin(const Instruction& in, Statement here) {
  const LoopRow& loop = row(in.a);
  pardo_.begin(in.a, here);
  loops_.push({in.a, loop.indices[0], 0, 0, own_.temp_count()});
  hooks_.opened(in.a);
  progress_.begin_pardo(loop, here);
  if (pardo_.next()) return;
  position_.jump(loop.end);
  leave_loop();
}

void ControlHandlers::op_pardo_next(const Instruction& in, Statement) {
  hooks_.iteration_over(in.a);
  own_.free_temps(loops_.innermost().temp_mark);
  if (pardo_.next()) position_.jump(row(in.a).begin + 1);
  else leave_loop();
}

void ControlHandlers::op_where(const Instruction& in, Statement) {
  if (registers_.integer(in.a) != 0) return;
  hooks_.filtered(in.b);
  position_.jump(row(in.b).next);
}

void ControlHandlers::op_body_begin(const Instruction& in, Statement) {
  if (pardo_.is_running(in.a)) {
    if (!pardo_.accept()) {
      position_.jump(row(in.a).next);
      return;
    }
    profile_.count_iteration();
  }
  hooks_.iteration(in.a);
}

void ControlHandlers::op_exit_loop(const Instruction&, Statement) {
  position_.jump(row(loops_.innermost().loop).end);
  leave_loop();
}

void ControlHandlers::leave_loop() {
  const LoopFrame frame = loops_.innermost();
  own_.free_temps(frame.first_temp);
  hooks_.left(frame.loop);
  const LoopRow& loop = row(frame.loop);
  for (std::int32_t i : loop.indices) registers_.close_index(i);
  if (loop.kind == LoopKind::pardo) pardo_.end();
  loops_.pop();
  progress_.end_loop();
}

}  // namespace sial
