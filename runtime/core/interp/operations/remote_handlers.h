#pragma once
// Statements about remote blocks: gets, and puts of all kinds.

#include "runtime/core/interp/control/loop_hooks.h"
#include "runtime/core/interp/operations/block_arithmetic.h"

namespace sial {

class FetchHandlers {
 public:
  FetchHandlers(const RunContext& context, PutExecution& puts, const Operands& operands, LoopHooks& hooks)
      : context_(context), puts_(puts), operands_(operands), hooks_(hooks) {}

  void op_get(const Instruction& in, Statement here);

 private:
  const RunContext& context_;
  PutExecution& puts_;
  const Operands& operands_;
  LoopHooks& hooks_;
};

class PutHandlers {
 public:
  PutHandlers(const RunContext& context, const Registers& registers, const DeviceExecution& device,
              const BlockMemory& memory, PutExecution& puts, Operands& operands, LoopHooks& hooks, Profile& profile);

  void op_put_block(const Instruction& in, Statement here);
  void op_put_combined(const Instruction& in, Statement here);
  void op_put_move(const Instruction& in, Statement here);
  void op_put_alias(const Instruction& in, Statement here) { put(in, PutAs::shared, here); }
  void op_put_scalar(const Instruction& in, Statement here);

 private:
  void put(const Instruction& in, PutAs how, Statement here);
  /// A put of a block that only the device has is left for later. False: it has to be carried out now.
  bool put_later(const Instruction& in, PutAs how, Statement here);
  /// A put of a block that only the device has, to another node. False: nothing is done, the host has to do it.
  bool put_from_device(const Instruction& in, bool add, Statement here);
  bool own_source(const Instruction& in, Located& at, HostBlock& host, Statement here) const;
  bool put_held(const Instruction& in, const Located& at, Statement here);
  ConstView source_of(const Instruction& in, const Located& at, Statement here);
  void store(PutAs how, ArrayId array, const Located& at, const ConstView& source, Statement here);

  const RunContext& context_;
  const Registers& registers_;
  const DeviceExecution& device_;
  const BlockMemory& memory_;
  PutExecution& puts_;
  Operands& operands_;
  LoopHooks& hooks_;
  Profile& profile_;
};

}  // namespace sial
