#pragma once
// execute: a super instruction's body, or, where the device has the block, the operation that it stands for.

#include <array>
#include <optional>

#include "runtime/core/interp/operations/fused_group.h"

namespace sial {

class ExecuteHandlers {
 public:
  ExecuteHandlers(const RunContext& context, DeviceExecution& device, Operands& operands, BlockArithmetic& arithmetic,
                  SuperArguments& arguments, SuperCalls& calls, FusedGroup& fused, Profile& profile);

  void op_execute(const Instruction& in, Statement here);

 private:
  using Args = std::array<SuperArg, max_rank>;
  bool run_block_form(const Instruction& in, Statement here);
  bool describe_blocks(const Instruction& in, Args& args, Statement here) const;
  bool pays(const Instruction& in, const BlockForm& form, const Args& args, Statement here) const;
  void compute(const Instruction& in, const BlockForm& form, bool creates, Statement here);
  /// The reference that an operand of the form is.
  std::int32_t reference(const Instruction& in, const BlockForm::Operand& operand) const {
    return arguments_.row(in, operand.argument).id;
  }

  const RunContext& context_;
  DeviceExecution& device_;
  Operands& operands_;
  BlockArithmetic& arithmetic_;
  SuperArguments& arguments_;
  SuperCalls& calls_;
  FusedGroup& fused_;
  Profile& profile_;
};

}  // namespace sial
