#pragma once
// The instruction that follows a jump, a call, a return, the beginning or end of a loop's iteration, a where clause or
// an exit: the one meaning that the interpreter, access slices and the prediction of memory share. Each of them is a
// `Flow` over values of its own:
//
//   condition(reg)        an int register, a number or std::optional
//   undecided(in)         a jump_unless whose condition is unknown
//   taken(op)             false: data decide whether this jump, return or exit is executed, and what follows is looked
//                         at, too
//   position(), go_to(p)  of the instruction that comes next
//   loop(id)              LoopPositions
//   open_loop(id)         binds the loop's indices to their first values; false: there are none
//   next_iteration(id)    ends an iteration and binds the next values; false: there are none
//   close_loop()          the innermost open loop ends
//   open_loops()          how many there are
//   filtered(id)          a where clause has refused an iteration
//   may_call(proc)        false: the call is passed over
//   entry(proc)           the procedure's first instruction
//   push_call(frame), pop_call()

#include <cstddef>
#include <cstdint>

#include "runtime/core/bytecode/evaluate/known.h"
#include "runtime/core/bytecode/opcodes.h"

namespace sial {

struct LoopPositions {
  std::int32_t first = 0, next = 0, after = 0;  // after its begin instruction, its next instruction, after that
};

/// Recursion cannot pass data, so that a depth this large is a program that never ends.
inline constexpr std::size_t max_call_depth = 10000;

struct CallFrame {
  std::int32_t return_pc = 0;
  std::size_t loop_depth = 0;
};

/// Carries out `op`; false when it is not an instruction of control. halt, stop and body_begin are the evaluators' own.
template <class In, class Flow>
[[gnu::always_inline]] inline bool evaluate_control(Opcode op, const In& in, Flow& flow) {
  switch (op) {
    case Opcode::jump:
      if (flow.taken(op)) flow.go_to(in.a);
      return true;
    case Opcode::jump_unless:
      if (const auto condition = flow.condition(in.a); !is_known(condition)) flow.undecided(in);
      else if (number(condition) == 0) flow.go_to(in.b);
      return true;
    case Opcode::call:
      if (!flow.may_call(in.a)) return true;
      flow.push_call(CallFrame{flow.position(), flow.open_loops()});
      flow.go_to(flow.entry(in.a));
      return true;
    case Opcode::ret: {
      if (!flow.taken(op)) return true;
      const CallFrame frame = flow.pop_call();
      while (flow.open_loops() > frame.loop_depth) flow.close_loop();
      flow.go_to(frame.return_pc);
      return true;
    }
    case Opcode::do_begin:
    case Opcode::sub_begin:
    case Opcode::pardo_begin:
      if (!flow.open_loop(in.a)) flow.go_to(flow.loop(in.a).after);
      return true;
    case Opcode::do_next:
    case Opcode::sub_next:
    case Opcode::pardo_next:
      if (flow.next_iteration(in.a)) flow.go_to(flow.loop(in.a).first);
      else flow.close_loop();
      return true;
    case Opcode::where:
      if (const auto condition = flow.condition(in.a); is_known(condition) && number(condition) == 0) {
        flow.filtered(in.b);
        flow.go_to(flow.loop(in.b).next);
      }
      return true;
    case Opcode::exit_loop:
      if (!flow.taken(op)) return true;
      flow.go_to(flow.loop(in.a).after);
      flow.close_loop();
      return true;
    default: return false;
  }
}

}  // namespace sial
