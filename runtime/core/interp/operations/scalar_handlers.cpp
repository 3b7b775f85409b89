#include "runtime/core/interp/operations/scalar_handlers.h"

#include <fmt/format.h>

namespace sial {

/// The operation with its operands' values.
std::string RegisterArithmetic::formula(const Instruction& in) const {
  const auto ints = [&](const char* sign) {
    return fmt::format("{} {} {}", registers_.integer(in.b), sign, registers_.integer(in.c));
  };
  const auto reals = [&](const char* sign) {
    return fmt::format("{} {} {}", registers_.scalar(in.b), sign, registers_.scalar(in.c));
  };
  switch (in.op) {
    case Opcode::int_add: return ints("+");
    case Opcode::int_sub: return ints("-");
    case Opcode::int_mul: return ints("*");
    case Opcode::int_div: return ints("/");
    case Opcode::int_neg: return fmt::format("-({})", registers_.integer(in.b));
    case Opcode::int_round: return fmt::format("(int) of {}", registers_.scalar(in.b));
    case Opcode::real_div: return reals("/");
    case Opcode::real_pow: return reals("**");
    case Opcode::real_sqrt: return fmt::format("{}", registers_.scalar(in.b));
    default: return std::string(opcode_info(in.op)->name);
  }
}

void RegisterArithmetic::fail(ArithmeticError error, const Instruction& in, Statement here) const {
  const std::string what = formula(in);
  if (error == ArithmeticError::not_an_int && context_.model && std::isnan(registers_.scalar(in.b)))
    context_.fail(here, "an int is made of a scalar that the model of kernels does not compute",
                  "with `kernels=model` blocks have no values: run this program with its kernels, on fewer ranks");
  switch (error) {
    case ArithmeticError::none: break;
    case ArithmeticError::int_overflow: context_.fail(here, "int overflow: " + what + " does not fit into 32 bits");
    case ArithmeticError::division_by_zero:
      context_.fail(here, "division by zero: " + what, "test the divisor with an `if` first");
    case ArithmeticError::not_an_int: context_.fail(here, what + ": the value does not fit into 32 bits");
    case ArithmeticError::fractional_power:
      context_.fail(here, what + ": a negative number to a fractional power has no real value");
    case ArithmeticError::zero_power: context_.fail(here, what + ": zero to a negative power is a division by zero");
    case ArithmeticError::infinite_power: context_.fail(here, what + ": the result is out of range");
    case ArithmeticError::negative_root: context_.fail(here, "sqrt of a negative number: " + what);
  }
  context_.fail(here, what);
}

}  // namespace sial
