#include "runtime/core/model/memory/registers.h"

#include "runtime/core/bytecode/evaluate/arithmetic.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/bind.h"

namespace sial {

PlannedRegisters::PlannedRegisters(const Module& module, const JobData& job) : m_(module) {
  std::vector<std::int32_t> ints;
  std::vector<double> scalars;
  initial_values(module, job, ints, scalars);
  ints_.assign(ints.begin(), ints.end());
  reals_.assign(scalars.begin(), scalars.end());
}

std::optional<std::int32_t> PlannedRegisters::integer(std::int32_t reg) const { return ints_[reg]; }

void PlannedRegisters::set_int(std::int32_t reg, std::optional<std::int32_t> value, bool uncertain) {
  const bool declared = reg < static_cast<std::int32_t>(m_.ints.size());
  if (declared && uncertain) value.reset();
  ints_[reg] = value;
}

void PlannedRegisters::set_real(std::int32_t reg, std::optional<double> value, bool uncertain) {
  const bool declared = reg < static_cast<std::int32_t>(m_.scalars.size());
  if (declared && uncertain) value.reset();
  reals_[reg] = value;
}

/// The registers as evaluate_registers() sees them.
struct PlannedRegisters::Values {
  PlannedRegisters& r;
  std::optional<std::int32_t> index_value;
  bool uncertain;

  std::optional<std::int32_t> integer(std::int32_t reg) const { return r.ints_[reg]; }
  std::optional<double> scalar(std::int32_t reg) const { return r.reals_[reg]; }
  std::optional<std::int32_t> index(std::int32_t) const { return index_value; }
  double constant(std::int32_t real) const { return r.m_.reals[real]; }
  void set_int(std::int32_t reg, std::optional<std::int32_t> value) { r.set_int(reg, value, uncertain); }
  void set_scalar(std::int32_t reg, std::optional<double> value) { r.set_real(reg, value, uncertain); }
};

void PlannedRegisters::apply(const Instruction& in, std::optional<std::int32_t> index, bool uncertain) {
  if (is_register_arithmetic(in.op)) evaluate_registers(in.op, in, Values{*this, index, uncertain});
  else invalidate(in, uncertain);
}

/// The results of other instructions depend on blocks, on other ranks or on earlier programs.
void PlannedRegisters::invalidate(const Instruction& in, bool uncertain) {
  const OpcodeInfo& info = *opcode_info(in.op);
  const auto operands = operands_of(in);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool item = info.operands[k] == OperandKind::item && info.access[k] == OperandAccess::out && in.a == 0;
    if (info.operands[k] == OperandKind::sout || info.operands[k] == OperandKind::svar || item)
      set_real(operands[k], {}, uncertain);
  }
}

}  // namespace sial
