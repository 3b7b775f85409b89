#pragma once
// Arithmetic on blocks, and blocks without copies: memory with several holders, as plans ask for it. Sharing cannot
// change what a program computes: whoever writes a block first makes sure that it is the memory's only holder
// (OwnBlocks, and the store for its own).

#include "runtime/core/interp/operations/block_arithmetic.h"

namespace sial {

class BlockHandlers {
 public:
  BlockHandlers(const RunContext& context, const Registers& registers, const DeviceExecution& device,
                const BlockMemory& memory, OwnBlocks& own, Statics& statics, const Regions& regions, Operands& operands,
                BlockArithmetic& arithmetic, Profile& profile);

  void op_block_fill(const Instruction& in, Statement here);
  void op_block_add_scalar(const Instruction& in, Statement here);
  void op_block_scale(const Instruction& in, Statement here);
  void op_block_copy(const Instruction& in, Statement here);
  void op_block_slice(const Instruction& in, Statement here) { op_block_copy(in, here); }
  void op_block_insert(const Instruction& in, Statement here) { op_block_copy(in, here); }
  void op_block_accumulate(const Instruction& in, Statement here);
  void op_block_scaled_copy(const Instruction& in, Statement here);
  void op_block_scaled_accumulate(const Instruction& in, Statement here);
  void op_block_sum(const Instruction& in, Statement here);
  void op_block_contract(const Instruction& in, Statement here);
  void op_contract_scaled(const Instruction& in, Statement here);
  void op_contract_add_scaled(const Instruction& in, Statement here);
  void op_region_put(const Instruction& in, Statement here);
  void op_region_get(const Instruction& in, Statement here);
  void op_region_fill(const Instruction& in, Statement here);
  void op_block_alias(const Instruction& in, Statement here);
  void op_expect(const Instruction& in, Statement here);

 private:
  ArrayId array(std::int32_t ref) const { return operands_.reference(ref).array; }
  double value(std::int32_t slot) const { return registers_.scalar(slot); }

  const RunContext& context_;
  const Registers& registers_;
  const DeviceExecution& device_;
  const BlockMemory& memory_;
  OwnBlocks& own_;
  Statics& statics_;
  const Regions& regions_;
  Operands& operands_;
  BlockArithmetic& arithmetic_;
  Profile& profile_;
};

}  // namespace sial
