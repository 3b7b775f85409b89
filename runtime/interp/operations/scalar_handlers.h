#pragma once
// Arithmetic on int and scalar registers, by the register that is written.

#include "runtime/interp/operations/block_arithmetic.h"

namespace sial {

class IntegerHandlers {
 public:
  IntegerHandlers(const RunContext& context, Registers& registers) : context_(context), registers_(registers) {}

  void op_int_const(const Instruction& in, Statement here);
  void op_int_copy(const Instruction& in, Statement here);
  void op_int_index(const Instruction& in, Statement here);
  void op_int_add(const Instruction& in, Statement here);
  void op_int_sub(const Instruction& in, Statement here);
  void op_int_mul(const Instruction& in, Statement here);
  void op_int_div(const Instruction& in, Statement here);
  void op_int_neg(const Instruction& in, Statement here);
  void op_int_compare(const Instruction& in, Statement here);
  void op_int_round(const Instruction& in, Statement here);
  void op_real_compare(const Instruction& in, Statement here);

 private:
  const RunContext& context_;
  Registers& registers_;
};

class ScalarHandlers {
 public:
  ScalarHandlers(const RunContext& context, Registers& registers, Operands& operands, BlockArithmetic& arithmetic)
      : context_(context), registers_(registers), operands_(operands), arithmetic_(arithmetic) {}

  void op_real_const(const Instruction& in, Statement here);
  void op_real_copy(const Instruction& in, Statement here);
  void op_real_add(const Instruction& in, Statement here);
  void op_real_sub(const Instruction& in, Statement here);
  void op_real_mul(const Instruction& in, Statement here);
  void op_real_div(const Instruction& in, Statement here);
  void op_real_pow(const Instruction& in, Statement here);
  void op_real_neg(const Instruction& in, Statement here);
  void op_real_sqrt(const Instruction& in, Statement here);
  void op_real_from_int(const Instruction& in, Statement here);
  void op_real_element(const Instruction& in, Statement here);
  void op_real_contract(const Instruction& in, Statement here);

 private:
  const RunContext& context_;
  Registers& registers_;
  Operands& operands_;
  BlockArithmetic& arithmetic_;
};

}  // namespace sial
