#pragma once
// The work of a rank at a barrier: it completes what it left for later, waits for the others, begins the next phase,
// and is saved where a checkpoint is due. Owned by the machine.

#include "runtime/core/interp/control/loop_hooks.h"
#include "runtime/core/interp/rank_check/program_check.h"
#include "runtime/core/interp/run/machine_state.h"

namespace sial {

class Barrier {
 public:
  Barrier(const RunContext& context, DeviceExecution& device, PutExecution& puts, OwnBlocks& own, PardoRun& pardo,
          LoopHooks& hooks, ProgramCheck& check, const MachineState& state);
  void pass(Statement here);

 private:
  void complete(Statement here);
  void save(Statement here);

  const RunContext& context_;
  DeviceExecution& device_;
  PutExecution& puts_;
  OwnBlocks& own_;
  PardoRun& pardo_;
  LoopHooks& hooks_;
  ProgramCheck& check_;
  const MachineState& state_;
};

}  // namespace sial
