// Int and scalar registers.

#include <cfenv>
#include <cmath>

#include <fmt/format.h>

#include "runtime/bytecode/evaluate/compare.h"
#include "runtime/interp/machine.h"

namespace sial {

void Machine::op_int_const(const Instruction& in) { ints_[in.a] = in.b; }
void Machine::op_int_copy(const Instruction& in) { ints_[in.a] = ints_[in.b]; }
void Machine::op_int_index(const Instruction& in) { ints_[in.a] = index_value(in.b); }

void Machine::op_int_add(const Instruction& in) {
  const std::int32_t x = ints_[in.b], y = ints_[in.c];
  if (__builtin_add_overflow(x, y, &ints_[in.a]))
    fail(fmt::format("int overflow: {} + {} does not fit into 32 bits", x, y));
}

void Machine::op_int_sub(const Instruction& in) {
  const std::int32_t x = ints_[in.b], y = ints_[in.c];
  if (__builtin_sub_overflow(x, y, &ints_[in.a]))
    fail(fmt::format("int overflow: {} - {} does not fit into 32 bits", x, y));
}

void Machine::op_int_mul(const Instruction& in) {
  const std::int32_t x = ints_[in.b], y = ints_[in.c];
  if (__builtin_mul_overflow(x, y, &ints_[in.a]))
    fail(fmt::format("int overflow: {} * {} does not fit into 32 bits", x, y));
}

void Machine::op_int_div(const Instruction& in) {
  const std::int32_t x = ints_[in.b], y = ints_[in.c];
  if (y == 0) fail(fmt::format("division by zero: {} / 0", x), "test the divisor with an `if` first");
  if (x == INT32_MIN && y == -1) fail(fmt::format("int overflow: {} / -1 does not fit into 32 bits", x));
  ints_[in.a] = x / y;
}

void Machine::op_int_neg(const Instruction& in) {
  const std::int32_t x = ints_[in.b];
  if (x == INT32_MIN) fail(fmt::format("int overflow: -({}) does not fit into 32 bits", x));
  ints_[in.a] = -x;
}

void Machine::op_int_compare(const Instruction& in) { ints_[in.a] = compare(ints_[in.b], ints_[in.c], in.d); }

void Machine::op_int_round(const Instruction& in) {
  const double x = scalars_[in.b];
  const double r = std::nearbyint(x);  // the rounding mode is never changed: ties to even
  if (!(r >= -2147483648.0 && r <= 2147483647.0))
    fail(fmt::format("(int) of {}: the value does not fit into 32 bits", x));
  ints_[in.a] = static_cast<std::int32_t>(r);
}

void Machine::op_real_const(const Instruction& in) { scalars_[in.a] = m_->reals[in.b]; }
void Machine::op_real_copy(const Instruction& in) { scalars_[in.a] = scalars_[in.b]; }
void Machine::op_real_add(const Instruction& in) { scalars_[in.a] = scalars_[in.b] + scalars_[in.c]; }
void Machine::op_real_sub(const Instruction& in) { scalars_[in.a] = scalars_[in.b] - scalars_[in.c]; }
void Machine::op_real_mul(const Instruction& in) { scalars_[in.a] = scalars_[in.b] * scalars_[in.c]; }

void Machine::op_real_div(const Instruction& in) {
  const double x = scalars_[in.b], y = scalars_[in.c];
  if (y == 0.0) fail(fmt::format("division by zero: {} / {}", x, y), "test the divisor with an `if` first");
  scalars_[in.a] = x / y;
}

void Machine::op_real_pow(const Instruction& in) {
  const double x = scalars_[in.b], y = scalars_[in.c];
  if (x < 0.0 && y != std::nearbyint(y))
    fail(fmt::format("{} ** {}: a negative number to a fractional power has no real value", x, y));
  if (x == 0.0 && y < 0.0) fail(fmt::format("{} ** {}: zero to a negative power is a division by zero", x, y));
  const double r = std::pow(x, y);
  if (std::isfinite(x) && std::isfinite(y) && !std::isfinite(r))
    fail(fmt::format("{} ** {}: the result is out of range", x, y));
  scalars_[in.a] = r;
}

void Machine::op_real_neg(const Instruction& in) { scalars_[in.a] = -scalars_[in.b]; }

void Machine::op_real_sqrt(const Instruction& in) {
  const double x = scalars_[in.b];
  if (x < 0.0) fail(fmt::format("sqrt of a negative number: {}", x));
  scalars_[in.a] = std::sqrt(x);
}

void Machine::op_real_compare(const Instruction& in) { ints_[in.a] = compare(scalars_[in.b], scalars_[in.c], in.d); }
void Machine::op_real_from_int(const Instruction& in) { scalars_[in.a] = ints_[in.b]; }

}  // namespace sial
