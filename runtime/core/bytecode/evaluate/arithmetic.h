#pragma once
// Arithmetic on int and scalar registers: the one meaning that the interpreter, access slices, predictions and the
// compiler's count of a job share. Values may be numbers, or std::optional numbers where an evaluator does not know all
// of them: what follows from an unknown value is unknown, and so is what the program would end with an error for.

#include <cmath>
#include <cstdint>

#include "runtime/core/base/check.h"
#include "runtime/core/bytecode/evaluate/compare.h"
#include "runtime/core/bytecode/evaluate/known.h"
#include "runtime/core/bytecode/opcodes.h"

namespace sial {

/// Why an operation has no value; the program ends with an error there.
enum class ArithmeticError {
  none,
  int_overflow,
  division_by_zero,
  not_an_int,        // rounded, it does not fit into 32 bits
  fractional_power,  // of a negative number
  zero_power,        // zero to a negative power
  infinite_power,    // out of the range of a double
  negative_root,
};

template <class T>
struct ArithmeticResult {
  T value{};
  ArithmeticError error = ArithmeticError::none;
};

/// int_add, int_sub, int_mul, int_div and int_neg (of `x`).
inline ArithmeticResult<std::int32_t> int_operation(Opcode op, std::int32_t x, std::int32_t y = 0) {
  ArithmeticResult<std::int32_t> r;
  bool overflow = false;
  switch (op) {
    case Opcode::int_add: overflow = __builtin_add_overflow(x, y, &r.value); break;
    case Opcode::int_sub: overflow = __builtin_sub_overflow(x, y, &r.value); break;
    case Opcode::int_mul: overflow = __builtin_mul_overflow(x, y, &r.value); break;
    case Opcode::int_neg: overflow = __builtin_sub_overflow(0, x, &r.value); break;
    case Opcode::int_div:
      if (y == 0) return {0, ArithmeticError::division_by_zero};
      overflow = x == INT32_MIN && y == -1;
      if (!overflow) r.value = x / y;
      break;
    default: SIAL_CHECK(false, "no arithmetic on ints for opcode {}", static_cast<int>(op));
  }
  if (overflow) r.error = ArithmeticError::int_overflow;
  return r;
}

/// The nearest int; ties go to the even one (nobody changes the rounding mode).
inline ArithmeticResult<std::int32_t> int_nearest(double x) {
  const double r = std::nearbyint(x);
  if (!(r >= -2147483648.0 && r <= 2147483647.0)) return {0, ArithmeticError::not_an_int};
  return {static_cast<std::int32_t>(r)};
}

inline ArithmeticResult<double> real_power(double x, double y) {
  if (x < 0.0 && y != std::nearbyint(y)) return {0, ArithmeticError::fractional_power};
  if (x == 0.0 && y < 0.0) return {0, ArithmeticError::zero_power};
  const double r = std::pow(x, y);
  if (std::isfinite(x) && std::isfinite(y) && !std::isfinite(r)) return {0, ArithmeticError::infinite_power};
  return {r};
}

/// real_add, real_sub, real_mul, real_div, real_pow, and real_neg and real_sqrt (of `x`).
inline ArithmeticResult<double> real_operation(Opcode op, double x, double y = 0.0) {
  switch (op) {
    case Opcode::real_add: return {x + y};
    case Opcode::real_sub: return {x - y};
    case Opcode::real_mul: return {x * y};
    case Opcode::real_div:
      if (y == 0.0) return {0, ArithmeticError::division_by_zero};
      return {x / y};
    case Opcode::real_pow: return real_power(x, y);
    case Opcode::real_neg: return {-x};
    case Opcode::real_sqrt:
      if (x < 0.0) return {0, ArithmeticError::negative_root};
      return {std::sqrt(x)};
    default: SIAL_CHECK(false, "no arithmetic on scalars for opcode {}", static_cast<int>(op));
  }
}

namespace evaluate_detail {

/// Hands the result of f to `set`: of known operands what f says, else unknown.
template <class Set, class F, class... V>
ArithmeticError apply(Set&& set, F&& f, const V&... operands) {
  if constexpr ((may_be_unknown<V> || ...)) {
    if (!(is_known(operands) && ...)) return set({}), ArithmeticError::none;
    const auto r = f(number(operands)...);
    if (r.error != ArithmeticError::none) set({});
    else set(r.value);
    return ArithmeticError::none;
  } else {
    const auto r = f(operands...);
    if (r.error == ArithmeticError::none) [[likely]]
      set(r.value);
    return r.error;
  }
}

}  // namespace evaluate_detail

/// Whether evaluate_registers() knows the opcode.
constexpr bool is_register_arithmetic(Opcode op) { return is_arithmetic(op) && !uses_blocks(op); }

/// Carries out `op`, one of is_register_arithmetic(), with the operands of `in`. `Registers` is the evaluator's door to
/// its values: integer(reg), scalar(reg), index(id), constant(real), set_int(reg, value), set_scalar(reg, value).
/// Where all values are numbers, an error leaves the target as it was.
template <class In, class Registers>
[[gnu::always_inline]] inline ArithmeticError evaluate_registers(Opcode op, const In& in, Registers&& r) {
  using Int = decltype(r.integer(0));
  using Real = decltype(r.scalar(0));
  using evaluate_detail::apply;
  const auto set_int = [&](Int v) { r.set_int(in.a, v); };
  const auto set_scalar = [&](Real v) { r.set_scalar(in.a, v); };
  const auto comparison = [&](auto x, auto y) { return ArithmeticResult<std::int32_t>{compare(x, y, in.d)}; };
  switch (op) {
    case Opcode::int_const: set_int(in.b); return {};
    case Opcode::int_copy: set_int(r.integer(in.b)); return {};
    case Opcode::int_index: set_int(r.index(in.b)); return {};
    case Opcode::int_add:
    case Opcode::int_sub:
    case Opcode::int_mul:
    case Opcode::int_div:
      return apply(set_int, [op](auto x, auto y) { return int_operation(op, x, y); }, r.integer(in.b), r.integer(in.c));
    case Opcode::int_neg: return apply(set_int, [op](auto x) { return int_operation(op, x); }, r.integer(in.b));
    case Opcode::int_compare: return apply(set_int, comparison, r.integer(in.b), r.integer(in.c));
    case Opcode::int_round: return apply(set_int, int_nearest, r.scalar(in.b));
    case Opcode::real_const: set_scalar(r.constant(in.b)); return {};
    case Opcode::real_copy: set_scalar(r.scalar(in.b)); return {};
    case Opcode::real_add:
    case Opcode::real_sub:
    case Opcode::real_mul:
    case Opcode::real_div:
    case Opcode::real_pow:
      return apply(
          set_scalar, [op](auto x, auto y) { return real_operation(op, x, y); }, r.scalar(in.b), r.scalar(in.c));
    case Opcode::real_neg:
    case Opcode::real_sqrt: return apply(set_scalar, [op](auto x) { return real_operation(op, x); }, r.scalar(in.b));
    case Opcode::real_compare: return apply(set_int, comparison, r.scalar(in.b), r.scalar(in.c));
    case Opcode::real_from_int:
      return apply(
          set_scalar, [](auto x) { return ArithmeticResult<double>{static_cast<double>(x)}; }, r.integer(in.b));
    default: SIAL_CHECK(false, "no arithmetic for opcode {}", static_cast<int>(op));
  }
}

}  // namespace sial
