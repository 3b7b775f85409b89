#pragma once
// Control flow: jumps, procedures, serial and parallel loops, sections.

#include "runtime/interp/operations/barrier.h"

namespace sial {

class ControlHandlers {
 public:
  ControlHandlers(const RunContext& context, Registers& registers, Position& position, LoopStack& loops,
                  ProgressMeter& progress, PardoRun& pardo, LoopHooks& hooks, OwnBlocks& own, Profile& profile,
                  Barrier& barrier);

  void op_halt(const Instruction&, Statement) { position_.halt(); }
  void op_jump(const Instruction& in, Statement) { position_.jump(in.a); }
  void op_jump_unless(const Instruction& in, Statement) {
    if (registers_.integer(in.a) == 0) position_.jump(in.b);
  }
  void op_call(const Instruction& in, Statement here);
  void op_ret(const Instruction& in, Statement here);
  void op_stop(const Instruction& in, Statement here);
  void op_do_begin(const Instruction& in, Statement here);
  void op_do_next(const Instruction& in, Statement here);
  void op_sub_begin(const Instruction& in, Statement here);
  void op_sub_next(const Instruction& in, Statement here) { op_do_next(in, here); }
  void op_pardo_begin(const Instruction& in, Statement here);
  void op_pardo_next(const Instruction& in, Statement here);
  void op_where(const Instruction& in, Statement here);
  void op_body_begin(const Instruction& in, Statement here);
  void op_exit_loop(const Instruction& in, Statement here);
  void op_section_begin(const Instruction&, Statement) {}
  void op_section_end(const Instruction&, Statement here) { barrier_.pass(here); }

 private:
  const LoopRow& row(std::int32_t loop) const { return context_.module.loops[loop]; }
  void open_serial(std::int32_t loop, std::int32_t index, std::int32_t lo, std::int32_t hi);
  void leave_loop();

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
};

}  // namespace sial
