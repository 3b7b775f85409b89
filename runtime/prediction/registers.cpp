#include "runtime/prediction/registers.h"

#include <cmath>

#include "runtime/bytecode/compare.h"
#include "runtime/bytecode/layout.h"
#include "runtime/interp/blocks/bind.h"

namespace sial {

Registers::Registers(const Module& module, const JobData& job) : m_(module) {
  initial_values(module, job, ints_, reals_);
  known_.assign(ints_.size(), 1);
}

std::optional<std::int32_t> Registers::integer(std::int32_t reg) const {
  return known_[reg] ? std::optional(ints_[reg]) : std::nullopt;
}

void Registers::set_int(std::int32_t reg, std::optional<std::int32_t> value, bool uncertain) {
  const bool declared = reg < static_cast<std::int32_t>(m_.ints.size());
  known_[reg] = value.has_value() && !(uncertain && declared);
  if (value) ints_[reg] = *value;
}

void Registers::set_real(std::int32_t reg, double value, bool uncertain) {
  const bool declared = reg < static_cast<std::int32_t>(m_.scalars.size());
  reals_[reg] = declared && uncertain ? unknown : value;
}

void Registers::apply(const Instruction& in, std::optional<std::int32_t> index, bool uncertain) {
  apply_int(in, index, uncertain);
  apply_real(in, uncertain);
}

void Registers::apply_int(const Instruction& in, std::optional<std::int32_t> index, bool uncertain) {
  const auto set = [&](std::optional<std::int32_t> value) { set_int(in.a, value, uncertain); };
  const auto two = [&](auto f) {
    std::int32_t result = 0;
    if (known_[in.b] && known_[in.c] && !f(ints_[in.b], ints_[in.c], &result)) set(result);
    else set({});
  };
  switch (in.op) {
    case Opcode::int_const: set(in.b); break;
    case Opcode::int_copy: set(integer(in.b)); break;
    case Opcode::int_index: set(index); break;
    case Opcode::int_add: two([](auto x, auto y, auto* r) { return __builtin_add_overflow(x, y, r); }); break;
    case Opcode::int_sub: two([](auto x, auto y, auto* r) { return __builtin_sub_overflow(x, y, r); }); break;
    case Opcode::int_mul: two([](auto x, auto y, auto* r) { return __builtin_mul_overflow(x, y, r); }); break;
    case Opcode::int_div:
      two([](std::int32_t x, std::int32_t y, std::int32_t* r) {
        if (y == 0 || (y == -1 && x == std::numeric_limits<std::int32_t>::min())) return true;
        *r = x / y;
        return false;
      });
      break;
    case Opcode::int_neg:
      set(known_[in.b] && ints_[in.b] != std::numeric_limits<std::int32_t>::min() ? std::optional(-ints_[in.b])
                                                                                  : std::nullopt);
      break;
    case Opcode::int_compare:
      set(known_[in.b] && known_[in.c] ? std::optional<std::int32_t>(compare(ints_[in.b], ints_[in.c], in.d))
                                       : std::nullopt);
      break;
    case Opcode::int_round: {
      const double x = std::nearbyint(reals_[in.b]);
      set(std::abs(x) < 2147483648.0 ? std::optional(static_cast<std::int32_t>(x)) : std::nullopt);
      break;
    }
    default: break;
  }
}

/// What other instructions write depends on blocks, on other ranks or on earlier programs.
void Registers::forget(const Instruction& in, bool uncertain) {
  const OpcodeInfo& info = *opcode_info(in.op);
  const auto operands = operands_of(in);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool item = info.operands[k] == OperandKind::item && info.access[k] == OperandAccess::out && in.a == 0;
    if (info.operands[k] == OperandKind::sout || info.operands[k] == OperandKind::svar || item)
      set_real(operands[k], unknown, uncertain);
  }
}

void Registers::apply_real(const Instruction& in, bool uncertain) {
  const auto set = [&](double value) { set_real(in.a, value, uncertain); };
  switch (in.op) {
    case Opcode::real_const: set(m_.reals[in.b]); break;
    case Opcode::real_copy: set(reals_[in.b]); break;
    case Opcode::real_add: set(reals_[in.b] + reals_[in.c]); break;
    case Opcode::real_sub: set(reals_[in.b] - reals_[in.c]); break;
    case Opcode::real_mul: set(reals_[in.b] * reals_[in.c]); break;
    case Opcode::real_div: set(reals_[in.c] != 0.0 ? reals_[in.b] / reals_[in.c] : unknown); break;
    case Opcode::real_pow: set(std::pow(reals_[in.b], reals_[in.c])); break;
    case Opcode::real_neg: set(-reals_[in.b]); break;
    case Opcode::real_sqrt: set(reals_[in.b] >= 0.0 ? std::sqrt(reals_[in.b]) : unknown); break;
    case Opcode::real_compare: {
      const double a = reals_[in.b], b = reals_[in.c];
      set_int(in.a, std::isnan(a) || std::isnan(b) ? std::nullopt : std::optional<std::int32_t>(compare(a, b, in.d)),
              uncertain);
      break;
    }
    case Opcode::real_from_int: set(known_[in.b] ? ints_[in.b] : unknown); break;
    default:
      if (op_class(in.op) != OpClass::integer) forget(in, uncertain);
  }
}

}  // namespace sial
