#include "runtime/core/interp/operations/control_handlers.h"

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

/// The machine as evaluate_control() sees it at an instruction of one kind.
template <Opcode op>
struct ControlHandlers::Flow {
  ControlHandlers& h;
  const Instruction& in;
  Statement here;

  std::int32_t condition(std::int32_t reg) const { return h.registers_.integer(reg); }
  void undecided(const Instruction&) const {}
  bool taken(Opcode) const { return true; }
  std::int32_t position() const { return h.position_.next_pc(); }
  void go_to(std::int32_t pc) const { h.position_.jump(pc); }
  LoopPositions loop(std::int32_t id) const {
    const LoopRow& row = h.row(id);
    return {row.begin + 1, row.next, row.end};
  }
  bool open_loop(std::int32_t id) const {
    if constexpr (op == Opcode::do_begin) return h.open_do(id, here);
    else if constexpr (op == Opcode::sub_begin) return h.open_sub(id, here);
    else return h.open_pardo(id, here);
  }
  bool next_iteration(std::int32_t id) const {
    if constexpr (op == Opcode::pardo_next) return h.next_tuple(id);
    else return h.next_value();
  }
  void close_loop() const { h.leave_loop(); }
  std::size_t open_loops() const { return h.loops_.depth(); }
  void filtered(std::int32_t id) const { h.hooks_.filtered(id); }
  bool may_call(std::int32_t) const { return true; }
  std::int32_t entry(std::int32_t proc) const { return h.context_.module.procs[proc].entry; }
  void push_call(const CallFrame& frame) const { h.push_call(in, frame, here); }
  CallFrame pop_call() const { return h.loops_.pop_call(); }
};

template <Opcode op>
void ControlHandlers::follow(const Instruction& in, Statement here) {
  Flow<op> flow{*this, in, here};
  evaluate_control(op, in, flow);
}

#define FOLLOW(name) \
  void ControlHandlers::op_##name(const Instruction& in, Statement here) { follow<Opcode::name>(in, here); }
FOLLOW(jump)
FOLLOW(call)
FOLLOW(ret)
FOLLOW(do_begin)
FOLLOW(do_next)
FOLLOW(sub_begin)
FOLLOW(sub_next)
FOLLOW(pardo_begin)
FOLLOW(pardo_next)
FOLLOW(where)
FOLLOW(exit_loop)
#undef FOLLOW

void ControlHandlers::op_jump_unless(const Instruction& in, Statement here) {
  if (context_.model && registers_.integer(in.a) == unknown_condition) [[unlikely]]
    follow_unknown(here);
  else follow<Opcode::jump_unless>(in, here);
}

/// The condition was compared with a scalar that is not known.
void ControlHandlers::follow_unknown(Statement here) {
  auto found = unknown_branches_.find(here.pc);
  if (found == unknown_branches_.end())
    found = unknown_branches_.emplace(here.pc, unknown_branch(context_.module, here.pc)).first;
  const UnknownBranch& branch = found->second;
  for (const std::int32_t scalar : branch.lost) registers_.scalar(scalar) = unknown_scalar;
  std::int32_t next = branch.next;
  if (branch.exits >= 0 && row(branch.exits).kind == LoopKind::do_) {
    const IndexId id = row(branch.exits).indices[0];
    const std::int64_t done = std::int64_t{registers_.index_value(id, here)} - context_.bound.indices[id.at()].lo + 1;
    if (done >= context_.model->iterations()) next = branch.exit_at;
  }
  position_.jump(next);
}

void ControlHandlers::op_halt(const Instruction&, Statement here) {
  for (std::int32_t s = 0; s < std::ssize(context_.module.scalars); ++s)
    context_.expect_finite(registers_.scalar(s), s, "among the results", here);
  position_.halt();
}

void ControlHandlers::op_stop(const Instruction&, Statement here) {
  context_.fail(here, fmt::format("program `{}` reached a `stop` statement", context_.module.program),
                "`stop` ends the whole job");
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

void ControlHandlers::push_call(const Instruction& in, const CallFrame& frame, Statement here) {
  if (loops_.calls().size() >= max_call_depth)
    context_.fail(here,
                  fmt::format("procedure `{}` is called recursively without end", context_.module.procs[in.a].name),
                  "procedures have no locals: use a loop");
  loops_.push_call(frame);
}

void ControlHandlers::open(const LoopFrame& frame) {
  loops_.push(frame);
  own_.enter_loop();
  if (!pardo_.active()) progress_.begin_serial();
  hooks_.opened(frame.loop);
}

bool ControlHandlers::open_do(std::int32_t loop, Statement here) {
  const IndexId id = row(loop).indices[0];
  const BoundIndex& index = context_.bound.indices[id.at()];
  if (index.lo > index.hi) return false;
  if (!index.problem.empty()) [[unlikely]]
    context_.fail(here, index.problem, index.remedy);
  registers_.open_index(id, index.lo);
  open({loop, id, index.lo, index.hi});
  return true;
}

bool ControlHandlers::open_sub(std::int32_t loop, Statement here) {
  const IndexId id = row(loop).indices[0];
  registers_.index_value(context_.bound.indices[id.at()].parent, here);  // must be bound
  registers_.open_index(id, 1);
  open({loop, id, 1, subsegments_per_segment});
  return true;
}

bool ControlHandlers::open_pardo(std::int32_t loop, Statement here) {
  if (!pardo_.begin(loop, here)) return false;
  open({loop, row(loop).indices[0], 0, 0});
  progress_.begin_pardo(row(loop), here);
  if (pardo_.next()) return true;
  leave_loop();
  return false;
}

bool ControlHandlers::next_value() {
  own_.end_iteration();
  LoopFrame& frame = loops_.innermost();
  if (frame.value >= frame.hi) return false;
  registers_.set_index(frame.index, ++frame.value);
  progress_.next_iteration();
  return true;
}

bool ControlHandlers::next_tuple(std::int32_t loop) {
  hooks_.iteration_over(loop);
  own_.end_iteration();
  return pardo_.next();
}

void ControlHandlers::leave_loop() {
  const std::int32_t loop = loops_.innermost().loop;
  own_.leave_loop();
  hooks_.left(loop);
  const LoopRow& left = row(loop);
  for (IndexId i : left.indices) registers_.close_index(i);
  if (left.kind == LoopKind::pardo) pardo_.end();
  loops_.pop();
  progress_.end_loop();
}

}  // namespace sial
