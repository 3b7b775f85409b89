#pragma once
// The parts of a machine, each with its own state, in the order in which they are made: a part knows those before it.
// Owned by the machine.

#include "runtime/core/interp/operations/handlers.h"
#include "runtime/core/memory/out_of_memory.h"

namespace sial {

struct MachineComponents {
  MachineComponents(const Module& module, std::int32_t sequence, const Environment& environment,
                    const MachineOptions& options);
  ~MachineComponents();
  MachineComponents(const MachineComponents&) = delete;
  MachineComponents& operator=(const MachineComponents&) = delete;

  RunContext context;
  Registers registers{context};
  Profile profile{context};
  Position position;
  LoopStack loops;

  DeviceExecution device{context};
  BlockMemory memory{context, device};
  PutExecution puts{context, device, memory, profile};
  OwnBlocks own{context, device, memory, puts, profile};
  Statics statics{context, device, memory};
  Regions regions{context, registers, device, memory};
  Operands operands{context, registers, loops, device, puts, own, statics, regions};

  ProgressMeter progress{context, loops};
  PardoRun pardo{context, registers, progress};
  LoopHooks hooks{context, registers, position, loops, pardo, statics};
  PersistentMarks marks{context};
  ProgramCheck check{context, registers, position, loops, pardo, operands, own, statics, regions, device};
  MachineState state{context, registers, position, loops, progress, own, statics, regions, marks};
  Barrier barrier{context, device, puts, own, pardo, hooks, check, state};

  BlockArithmetic arithmetic{context, device, memory, operands, regions, profile};
  SuperArguments arguments{context, registers, memory, operands, statics, regions};
  MachineContext seen{context, registers, position, own, statics, regions, arguments};
  SuperCalls calls{context, own, operands, arguments, seen, profile};
  FusedGroup fused{context, registers, position, device, operands, arithmetic, arguments, calls, profile, handlers};
  Handlers handlers;
};

/// Carries out instructions from the present position until the program halts.
void run_instructions(MachineComponents& parts);

/// An error of memory that names the array, and what holds the memory now.
OutOfMemory memory_error(const MachineComponents& parts, const OutOfMemory& error, Statement here);

}  // namespace sial
