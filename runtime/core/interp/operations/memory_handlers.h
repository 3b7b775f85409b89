#pragma once
// The life of blocks and of copies of them: locals, regions, temps that end early or live on, remote arrays as a whole,
// and the memory that element-wise statements share one pass over.

#include "runtime/core/interp/control/pardo_run.h"
#include "runtime/core/interp/operations/fused_group.h"

namespace sial {

class MemoryHandlers {
 public:
  MemoryHandlers(const RunContext& context, const DeviceExecution& device, PutExecution& puts, OwnBlocks& own,
                 Regions& regions, Operands& operands, const PardoRun& pardo, const Position& position,
                 FusedGroup& fused, Profile& profile);

  void op_allocate(const Instruction& in, Statement here);
  void op_deallocate(const Instruction& in, Statement here);
  void op_allocate_region(const Instruction& in, Statement here);
  void op_deallocate_region(const Instruction& in, Statement here);
  void op_create(const Instruction&, Statement) {}
  void op_erase_array(const Instruction& in, Statement here);
  void op_free_block(const Instruction& in, Statement here);
  void op_keep_block(const Instruction& in, Statement here);
  void op_fused(const Instruction& in, Statement here);
  void op_relieve_sums(const Instruction& in, Statement here);
  void op_keep_copies(const Instruction& in, Statement here);
  void op_discard_values(const Instruction& in, Statement here);

 private:
  const RunContext& context_;
  const DeviceExecution& device_;
  PutExecution& puts_;
  OwnBlocks& own_;
  Regions& regions_;
  Operands& operands_;
  const PardoRun& pardo_;
  const Position& position_;
  FusedGroup& fused_;
  Profile& profile_;
};

}  // namespace sial
