#include "runtime/interp/operations/scalar_handlers.h"

#include <cfenv>
#include <cmath>

#include <fmt/format.h>

#include "runtime/bytecode/evaluate/compare.h"

namespace sial {

void IntegerHandlers::op_int_const(const Instruction& in, Statement) { registers_.integer(in.a) = in.b; }
void IntegerHandlers::op_int_copy(const Instruction& in, Statement) {
  registers_.integer(in.a) = registers_.integer(in.b);
}
void IntegerHandlers::op_int_index(const Instruction& in, Statement here) {
  registers_.integer(in.a) = registers_.index_value(in.b, here);
}

void IntegerHandlers::op_int_add(const Instruction& in, Statement here) {
  const std::int32_t x = registers_.integer(in.b), y = registers_.integer(in.c);
  if (__builtin_add_overflow(x, y, &registers_.integer(in.a)))
    context_.fail(here, fmt::format("int overflow: {} + {} does not fit into 32 bits", x, y));
}

void IntegerHandlers::op_int_sub(const Instruction& in, Statement here) {
  const std::int32_t x = registers_.integer(in.b), y = registers_.integer(in.c);
  if (__builtin_sub_overflow(x, y, &registers_.integer(in.a)))
    context_.fail(here, fmt::format("int overflow: {} - {} does not fit into 32 bits", x, y));
}

void IntegerHandlers::op_int_mul(const Instruction& in, Statement here) {
  const std::int32_t x = registers_.integer(in.b), y = registers_.integer(in.c);
  if (__builtin_mul_overflow(x, y, &registers_.integer(in.a)))
    context_.fail(here, fmt::format("int overflow: {} * {} does not fit into 32 bits", x, y));
}

void IntegerHandlers::op_int_div(const Instruction& in, Statement here) {
  const std::int32_t x = registers_.integer(in.b), y = registers_.integer(in.c);
  if (y == 0) context_.fail(here, fmt::format("division by zero: {} / 0", x), "test the divisor with an `if` first");
  if (x == INT32_MIN && y == -1) context_.fail(here, fmt::format("int overflow: {} / -1 does not fit into 32 bits", x));
  registers_.integer(in.a) = x / y;
}

void IntegerHandlers::op_int_neg(const Instruction& in, Statement here) {
  const std::int32_t x = registers_.integer(in.b);
  if (x == INT32_MIN) context_.fail(here, fmt::format("int overflow: -({}) does not fit into 32 bits", x));
  registers_.integer(in.a) = -x;
}

void IntegerHandlers::op_int_compare(const Instruction& in, Statement) {
  registers_.integer(in.a) = compare(registers_.integer(in.b), registers_.integer(in.c), in.d);
}

void IntegerHandlers::op_int_round(const Instruction& in, Statement here) {
  const double x = registers_.scalar(in.b);
  const double r = std::nearbyint(x);  // the rounding mode is never changed: ties to even
  if (!(r >= -2147483648.0 && r <= 2147483647.0))
    context_.fail(here, fmt::format("(int) of {}: the value does not fit into 32 bits", x));
  registers_.integer(in.a) = static_cast<std::int32_t>(r);
}

void ScalarHandlers::op_real_const(const Instruction& in, Statement) {
  registers_.scalar(in.a) = context_.module.reals[in.b];
}
void ScalarHandlers::op_real_copy(const Instruction& in, Statement) {
  registers_.scalar(in.a) = registers_.scalar(in.b);
}
void ScalarHandlers::op_real_add(const Instruction& in, Statement) {
  registers_.scalar(in.a) = registers_.scalar(in.b) + registers_.scalar(in.c);
}
void ScalarHandlers::op_real_sub(const Instruction& in, Statement) {
  registers_.scalar(in.a) = registers_.scalar(in.b) - registers_.scalar(in.c);
}
void ScalarHandlers::op_real_mul(const Instruction& in, Statement) {
  registers_.scalar(in.a) = registers_.scalar(in.b) * registers_.scalar(in.c);
}

void ScalarHandlers::op_real_div(const Instruction& in, Statement here) {
  const double x = registers_.scalar(in.b), y = registers_.scalar(in.c);
  if (y == 0.0)
    context_.fail(here, fmt::format("division by zero: {} / {}", x, y), "test the divisor with an `if` first");
  registers_.scalar(in.a) = x / y;
}

void ScalarHandlers::op_real_pow(const Instruction& in, Statement here) {
  const double x = registers_.scalar(in.b), y = registers_.scalar(in.c);
  if (x < 0.0 && y != std::nearbyint(y))
    context_.fail(here, fmt::format("{} ** {}: a negative number to a fractional power has no real value", x, y));
  if (x == 0.0 && y < 0.0)
    context_.fail(here, fmt::format("{} ** {}: zero to a negative power is a division by zero", x, y));
  const double r = std::pow(x, y);
  if (std::isfinite(x) && std::isfinite(y) && !std::isfinite(r))
    context_.fail(here, fmt::format("{} ** {}: the result is out of range", x, y));
  registers_.scalar(in.a) = r;
}

void ScalarHandlers::op_real_neg(const Instruction& in, Statement) {
  registers_.scalar(in.a) = -registers_.scalar(in.b);
}

void ScalarHandlers::op_real_sqrt(const Instruction& in, Statement here) {
  const double x = registers_.scalar(in.b);
  if (x < 0.0) context_.fail(here, fmt::format("sqrt of a negative number: {}", x));
  registers_.scalar(in.a) = std::sqrt(x);
}

void IntegerHandlers::op_real_compare(const Instruction& in, Statement) {
  registers_.integer(in.a) = compare(registers_.scalar(in.b), registers_.scalar(in.c), in.d);
}
void ScalarHandlers::op_real_from_int(const Instruction& in, Statement) {
  registers_.scalar(in.a) = registers_.integer(in.b);
}

void ScalarHandlers::op_real_element(const Instruction& in, Statement here) {
  registers_.scalar(in.a) = operands_.read(in.b, here).data[0];
}

void ScalarHandlers::op_real_contract(const Instruction& in, Statement here) {
  registers_.scalar(in.a) = arithmetic_.dot(in.b, in.c, here);
}

}  // namespace sial
