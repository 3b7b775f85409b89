#pragma once
// Control flow: jumps, procedures, serial and parallel loops, sections. Which instruction follows is decided where all
// evaluators of a program do (bytecode/evaluate/control_flow.h); what loops, temps and those who follow the program do
// about it is here.

#include <unordered_map>

#include "runtime/core/interp/control/unknown_values.h"
#include "runtime/core/interp/operations/barrier.h"

namespace sial {

class ControlHandlers {
 public:
  ControlHandlers(const RunContext& context, Registers& registers, Position& position, LoopStack& loops,
                  ProgressMeter& progress, PardoRun& pardo, LoopHooks& hooks, OwnBlocks& own, Profile& profile,
                  Barrier& barrier);

  void op_halt(const Instruction& in, Statement here);
  void op_stop(const Instruction& in, Statement here);
  void op_jump(const Instruction& in, Statement here);
  void op_jump_unless(const Instruction& in, Statement here);
  void op_call(const Instruction& in, Statement here);
  void op_ret(const Instruction& in, Statement here);
  void op_do_begin(const Instruction& in, Statement here);
  void op_do_next(const Instruction& in, Statement here);
  void op_sub_begin(const Instruction& in, Statement here);
  void op_sub_next(const Instruction& in, Statement here);
  void op_pardo_begin(const Instruction& in, Statement here);
  void op_pardo_next(const Instruction& in, Statement here);
  void op_where(const Instruction& in, Statement here);
  void op_exit_loop(const Instruction& in, Statement here);
  void op_body_begin(const Instruction& in, Statement here);
  void op_section_begin(const Instruction&, Statement) {}
  void op_section_end(const Instruction&, Statement here) { barrier_.pass(here); }

 private:
  template <Opcode op>
  struct Flow;
  template <Opcode op>
  void follow(const Instruction& in, Statement here);
  void follow_unknown(Statement here);
  const LoopRow& row(std::int32_t loop) const { return context_.module.loops[loop]; }
  bool open_do(std::int32_t loop, Statement here);
  bool open_sub(std::int32_t loop, Statement here);
  bool open_pardo(std::int32_t loop, Statement here);
  void open(const LoopFrame& frame);
  bool next_value();
  bool next_tuple(std::int32_t loop);
  void leave_loop();
  void push_call(const Instruction& in, const CallFrame& frame, Statement here);

  const RunContext& context_;
  Registers& registers_;
  Position& position_;
  LoopStack& loops_;
  ProgressMeter& progress_;
  PardoRun& pardo_;
  LoopHooks& hooks_;
  OwnBlocks& own_;
  Profile& profile_;
  Barrier& barrier_;
  std::unordered_map<std::int32_t, UnknownBranch> unknown_branches_;  // by instruction, those met so far
};

}  // namespace sial
