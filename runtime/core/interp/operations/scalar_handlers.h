#pragma once
// Arithmetic on int and scalar registers, by the register that is written. What it means is shared with all other
// evaluators of a program (bytecode/evaluate/arithmetic.h); the errors are worded here.

#include "runtime/core/bytecode/evaluate/arithmetic.h"
#include "runtime/core/interp/control/unknown_values.h"
#include "runtime/core/interp/operations/block_arithmetic.h"

namespace sial {

class RegisterArithmetic {
 public:
  RegisterArithmetic(const RunContext& context, Registers& registers) : context_(context), registers_(registers) {}

  template <Opcode op>
  void run(const Instruction& in, Statement here) {
    const ArithmeticError error = evaluate_registers(op, in, Values{context_, registers_, here});
    if (error != ArithmeticError::none) [[unlikely]]
      fail(error, in, here);
  }

 private:
  /// The registers as evaluate_registers() sees them.
  struct Values {
    const RunContext& context;
    Registers& registers;
    Statement here;

    std::int32_t integer(std::int32_t slot) const { return registers.integer(slot); }
    double scalar(std::int32_t slot) const { return registers.scalar(slot); }
    std::int32_t index(std::int32_t id) const { return registers.index_value(IndexId(id), here); }
    double constant(std::int32_t real) const { return context.module.reals[real]; }
    void set_int(std::int32_t slot, std::int32_t value) const { registers.integer(slot) = value; }
    void set_scalar(std::int32_t slot, double value) const { registers.scalar(slot) = value; }
  };
  [[noreturn]] void fail(ArithmeticError error, const Instruction& in, Statement here) const;
  std::string formula(const Instruction& in) const;

  const RunContext& context_;
  Registers& registers_;
};

class IntegerHandlers {
 public:
  IntegerHandlers(const RunContext& context, Registers& registers)
      : arithmetic_(context, registers), context_(context), registers_(registers) {}

#define ARITHMETIC(name) \
  void op_##name(const Instruction& in, Statement here) { arithmetic_.run<Opcode::name>(in, here); }
  ARITHMETIC(int_const)
  ARITHMETIC(int_copy)
  ARITHMETIC(int_index)
  ARITHMETIC(int_add)
  ARITHMETIC(int_sub)
  ARITHMETIC(int_mul)
  ARITHMETIC(int_div)
  ARITHMETIC(int_neg)
  ARITHMETIC(int_compare)
  ARITHMETIC(int_round)
  void op_real_compare(const Instruction& in, Statement here) {
    if (context_.model && std::isnan(registers_.scalar(in.b) - registers_.scalar(in.c))) [[unlikely]]
      registers_.integer(in.a) = unknown_condition;
    else arithmetic_.run<Opcode::real_compare>(in, here);
    context_.expect_finite(registers_.scalar(in.b), in.b, "compared", here);
    context_.expect_finite(registers_.scalar(in.c), in.c, "compared", here);
  }

 private:
  RegisterArithmetic arithmetic_;
  const RunContext& context_;
  Registers& registers_;
};

class ScalarHandlers {
 public:
  ScalarHandlers(const RunContext& context, Registers& registers, Operands& operands, BlockArithmetic& blocks)
      : arithmetic_(context, registers),
        context_(context),
        registers_(registers),
        operands_(operands),
        blocks_(blocks) {}

  ARITHMETIC(real_const)
  ARITHMETIC(real_copy)
  ARITHMETIC(real_add)
  ARITHMETIC(real_sub)
  ARITHMETIC(real_mul)
  ARITHMETIC(real_div)
  ARITHMETIC(real_pow)
  ARITHMETIC(real_neg)
  ARITHMETIC(real_sqrt)
  ARITHMETIC(real_from_int)
#undef ARITHMETIC
  void op_real_element(const Instruction& in, Statement here) {
    const ConstView element = operands_.read(in.b, here);
    registers_.scalar(in.a) = context_.model ? unknown_scalar : element.data[0];
  }
  void op_real_contract(const Instruction& in, Statement here) {
    registers_.scalar(in.a) = blocks_.dot(in.b, in.c, here);
  }

 private:
  RegisterArithmetic arithmetic_;
  const RunContext& context_;
  Registers& registers_;
  Operands& operands_;
  BlockArithmetic& blocks_;
};

}  // namespace sial
