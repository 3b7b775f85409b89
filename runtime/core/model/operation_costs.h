#pragma once
// The time of one execution of an instruction: a fixed time, cycles of its kernel, and a time for each element of its
// blocks, by the cache or memory that these come from. The prediction of a job's time applies it to mean blocks, the
// simulator to those that a rank works on.

#include <cstdint>
#include <vector>

#include "runtime/core/interp/context/bind.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/model/machine_speed.h"
#include "runtime/core/model/operand_sources.h"

namespace sial {

/// The cost of an instruction in a nest of loops. `element`: seconds per element of each block or argument, in order.
struct OperationCost {
  double fixed = 0;
  std::vector<double> element;
};

class OperationCosts {
 public:
  OperationCosts(const Module& module, const BoundProgram& bound, const OperandSources& sources,
                 const MachineSpeed& speed, bool keeps_integrals);

  static double light();  // of an instruction on registers
  static double draw();   // of the beginning of an iteration of a pardo
  /// Without its kernel and the network.
  OperationCost of(std::int32_t nest, const Instruction& in) const;
  /// The seconds of a kernel, operands in its caches.
  double kernel(const Kernels& kernels, const BlockOp& op) const { return kernels.cycles(op) / speed_.cycles; }

 private:
  double transfer(std::int32_t nest, std::int32_t ref) const;
  void add_arguments(std::int32_t nest, const Instruction& in, OperationCost& cost) const;

  const Module& m_;
  const BoundProgram& bound_;
  const OperandSources& sources_;
  const MachineSpeed& speed_;
  const bool keeps_integrals_;
};

}  // namespace sial
