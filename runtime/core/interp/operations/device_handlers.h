#pragma once
// Statements about devices. Block operations run on the device by intent wherever they stand: what lies outside of
// gpu_on ... gpu_off runs there too, because most programs say nothing of devices, and because at each border what is
// being worked on would cross the bus twice. The others are carried out where there is a device with memory of its own,
// and cannot change what a program computes: a block that does not exist, or is still on its way from another node, is
// left alone, as is a name without a block under it, which is an error only when used.

#include "runtime/core/interp/blocks/operands.h"

namespace sial {

class DeviceHandlers {
 public:
  DeviceHandlers(const RunContext& context, const DeviceExecution& device, const Operands& operands)
      : context_(context), device_(device), operands_(operands) {}

  void op_gpu_on(const Instruction&, Statement) {}
  void op_gpu_off(const Instruction&, Statement) {}
  void op_gpu_allocate(const Instruction& in, Statement here) { hint(in, Hint::reserve, here); }
  void op_gpu_free(const Instruction& in, Statement here) { hint(in, Hint::evict, here); }
  void op_gpu_put(const Instruction& in, Statement here) { hint(in, Hint::prefetch, here); }
  void op_gpu_get(const Instruction& in, Statement here) { hint(in, Hint::write_back, here); }

 private:
  enum class Hint { reserve, prefetch, write_back, evict };
  void hint(const Instruction& in, Hint what, Statement here);
  void hint_block(const ResolvedReference& ref, const Located& at, Hint what, Statement here);
  void hint_array(ArrayId array, Hint what, Statement here);

  const RunContext& context_;
  const DeviceExecution& device_;
  const Operands& operands_;
};

}  // namespace sial
