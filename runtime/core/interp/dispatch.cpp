// The loop over instructions, and the time that each takes.

#include <chrono>

#include "runtime/core/interp/machine_components.h"

namespace sial {
namespace {

/// Attributes time to instructions. The clock costs as much as a small block operation, so it is read as seldom as can
/// be: where computation ended anyway, after other heavy instructions, and before one only when more light instructions
/// ran than the reading would cost.
class InstructionTimer {
 public:
  explicit InstructionTimer(MachineComponents& parts)
      : context_(parts.context),
        profile_(parts.profile),
        fused_(parts.fused),
        last_(context_.now()),
        computed_(profile_.compute_seconds()),
        flops_(profile_.flops()) {
    profile_.begin_program(last_);
  }

  void before_heavy() {
    if (light_run_ >= short_run) end_light_run();
  }
  void after_light(std::int32_t pc) {
    profile_.count_execution(pc);
    ++light_run_;
  }
  [[gnu::always_inline]] void after_heavy(const Instruction& in, std::int32_t pc, bool group) {
    const double t = profile_.clock() > last_ ? profile_.clock() : context_.now();
    const double computed = profile_.compute_seconds(), flops = profile_.flops();
    double seconds = t - last_, compute = computed - computed_;
    if (group && !fused_.members().empty()) {
      profile_.share_cost(fused_.members(), seconds, compute);
      seconds = compute = 0;
    }
    profile_.add_cost(pc, seconds, compute, flops - flops_);
    computed_ = computed;
    flops_ = flops;
    if (context_.env.trace) trace(in, pc, t);
    last_ = t;
    light_run_ = 0;
  }
  void end() {
    end_light_run();
    if (context_.env.trace)
      context_.env.trace->add(TraceKind::program, {context_.sequence, context_.module.main_entry}, profile_.begun(),
                              last_);
  }

 private:
  static constexpr int short_run = 8;

  void end_light_run() {
    const double t = context_.now();
    profile_.add_light_time(t - last_);
    last_ = t;
    light_run_ = 0;
  }
  /// Computation, waiting and barriers are traced where they are measured.
  void trace(const Instruction& in, std::int32_t pc, double end) const {
    const Place at = context_.place({pc});
    if (op_class(in.op) == OpClass::fetch) context_.env.trace->add(TraceKind::get, at, last_, end);
    if (op_class(in.op) == OpClass::put) context_.env.trace->add(TraceKind::put, at, last_, end);
  }

  const RunContext& context_;
  Profile& profile_;
  const FusedGroup& fused_;
  double last_, computed_, flops_;
  int light_run_ = 0;
};

/// Between statements what waits for others goes on.
inline void progress_communication(MachineComponents& parts, bool several_nodes, bool has_tiers) {
  if (several_nodes) parts.context.env.transport.progress();
  if (has_tiers) parts.context.env.store.fetch().end_statement();
  if (parts.puts.waiting()) parts.puts.go_on();
}

/// Statements that take time, and those that every loop has.
constexpr bool is_progress(Opcode op, bool light) {
  return !light || op == Opcode::do_next || op == Opcode::sub_next || op == Opcode::jump || op == Opcode::call;
}

struct NoTimer {
  explicit NoTimer(MachineComponents&) {}
};

/// Time of statements that the model of kernels does not charge where they are carried out.
struct NoModel {
  explicit NoModel(MachineComponents&) {}
  void light() {}
  void heavy(const Instruction&, std::int32_t) {}
};
class Modelled {
 public:
  explicit Modelled(MachineComponents& parts) : clock_(*parts.context.model) {}
  void light() { ++light_; }
  void heavy(const Instruction& in, std::int32_t pc) {
    clock_.owe_light(light_);
    light_ = 0;
    const OpCost cost = op_cost(in.op);
    if (cost == OpCost::quick || cost == OpCost::fixed || cost == OpCost::message)
      clock_.charge(clock_.costs().statement(pc, {}));
  }

 private:
  ModelClock& clock_;
  std::int64_t light_ = 0;
};

/// Lets the caller of the run in now and then: it may end the program between two statements. The clock is read where
/// a statement takes time anyway.
class Interruptible {
 public:
  explicit Interruptible(MachineComponents& parts) : ask_(parts.context.options.between_statements) {}
  void light() {
    if (++light_ == light_statements) look();
  }
  void heavy(const Instruction&, std::int32_t) { look(); }

 private:
  static constexpr int light_statements = 256;
  static constexpr std::chrono::milliseconds often{100};

  void look() {
    light_ = 0;
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < often) return;
    ask_();
    asked_ = std::chrono::steady_clock::now();
  }

  const std::function<void()>& ask_;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  int light_ = 0;
};

template <bool profile, bool check, class Model = NoModel>
void loop(MachineComponents& parts) {
  const Instruction* code = parts.context.module.code.data();
  const bool several_nodes = parts.context.env.transport.node_count() > 1;
  const bool has_tiers = parts.context.env.store.monitor().spill_capacity() > 0;
  std::conditional_t<profile, InstructionTimer, NoTimer> timer(parts);
  Model model(parts);
  Position& position = parts.position;
  Handlers& handlers = parts.handlers;
  RankActivity& activity = parts.context.env.transport.activity();
  activity.set_program(parts.context.sequence);
  std::int64_t executed = 0;
  position.halt(false);
  while (!position.halted()) {
    const Statement here = position.advance();
    const Instruction& in = code[here.pc];
    ++executed;
    if constexpr (check) parts.check.step(here);
    switch (in.op) {
#define OPCODE(number, name, a, b, c, d, op_class, ...)                                                                \
  case Opcode::name:                                                                                                   \
    if constexpr (has(Opcode::name, op::ends_phase)) { /* the machine may be saved: its counters are complete there */ \
      parts.profile.count_instructions(executed);                                                                      \
      executed = 0;                                                                                                    \
    }                                                                                                                  \
    if constexpr (is_progress(Opcode::name, has(Opcode::name, op::light))) activity.begin_statement(here.pc);          \
    if constexpr (profile && !has(Opcode::name, op::light)) timer.before_heavy();                                      \
    if constexpr (has(Opcode::name, op::light)) model.light();                                                         \
    else model.heavy(in, here.pc);                                                                                     \
    handlers.op_class.op_##name(in, here);                                                                             \
    if constexpr (!has(Opcode::name, op::light)) progress_communication(parts, several_nodes, has_tiers);              \
    if constexpr (profile) {                                                                                           \
      if constexpr (has(Opcode::name, op::light)) timer.after_light(here.pc);                                          \
      else timer.after_heavy(in, here.pc, Opcode::name == Opcode::fused);                                              \
    }                                                                                                                  \
    break;
#include "runtime/core/bytecode/opcodes.def"
#undef OPCODE
    }
  }
  if constexpr (profile) timer.end();
  parts.profile.count_instructions(executed);
}

}  // namespace

void run_instructions(MachineComponents& parts) {
  const bool by_instruction = parts.profile.by_instruction();
  if (parts.context.model && by_instruction) loop<true, false, Modelled>(parts);
  else if (parts.context.model) loop<false, false, Modelled>(parts);
  else if (parts.check.on()) loop<true, true>(parts);
  else if (parts.context.options.between_statements) loop<false, false, Interruptible>(parts);
  else if (by_instruction) loop<true, false>(parts);
  else loop<false, false>(parts);
}

}  // namespace sial
