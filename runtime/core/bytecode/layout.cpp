#include "runtime/core/bytecode/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/base/check.h"

namespace sial {

Intent operand_intent(const Instruction& i, int position) {
  switch (opcode_info(i.op)->access[static_cast<std::size_t>(position)]) {
    case OperandAccess::out: return Intent::write;
    case OperandAccess::inout: return Intent::update;
    case OperandAccess::set: return assignment_of(i) == SetOp::assign ? Intent::write : Intent::update;
    case OperandAccess::none:
    case OperandAccess::in: break;
  }
  return Intent::read;
}

SetOp assignment_of(const Instruction& i) {
  const OpcodeInfo& info = *opcode_info(i.op);
  const auto values = operands_of(i);
  for (std::size_t p = 0; p < 4; ++p)
    if (info.operands[p] == OperandKind::setop) return static_cast<SetOp>(values[p]);
  return info.access[0] == OperandAccess::out ? SetOp::assign : SetOp::add;
}

Intent letter_intent(char letter) {
  switch (letter) {
    case 'w': return Intent::write;
    case 'u': return Intent::update;
    default: return Intent::read;
  }
}

IndexKind selector_kind(const Module& module, IndexId index) {
  const IndexRow& row = module.indices[index.at()];
  return row.kind == IndexKind::sub ? module.indices[row.parent.at()].kind : row.kind;
}

bool is_partial(const Module& module, const RefRow& ref) {
  const ArrayRow& array = module.arrays[ref.array.at()];
  for (std::size_t d = 0; d < ref.entries.size(); ++d) {
    const RefEntry& e = ref.entries[d];
    if (e.index == no_index || e.as_simple) continue;
    if (module.indices[e.index.at()].kind == IndexKind::sub &&
        module.indices[array.dims[d].at()].kind != IndexKind::sub)
      return true;
  }
  return false;
}

bool is_all_simple(const Module& module, const RefRow& ref) {
  return std::all_of(ref.entries.begin(), ref.entries.end(), [&](const RefEntry& e) {
    return e.index != no_index && (e.as_simple || module.indices[e.index.at()].kind == IndexKind::simple);
  });
}

std::string_view relop_text(Relop op) {
  static constexpr std::string_view text[] = {"<", "<=", ">", ">=", "==", "!="};
  return text[static_cast<int>(op)];
}

std::string_view setop_text(SetOp op) {
  static constexpr std::string_view text[] = {"=", "+=", "-=", "*="};
  return text[static_cast<int>(op)];
}

std::string_view intent_text(Intent intent) {
  static constexpr std::string_view text[] = {"read", "write", "update"};
  return text[static_cast<int>(intent)];
}

std::string_view index_kind_text(IndexKind kind) {
  switch (kind) {
    case IndexKind::ao: return "aoindex";
    case IndexKind::mo: return "moindex";
    case IndexKind::moa: return "moaindex";
    case IndexKind::mob: return "mobindex";
    case IndexKind::simple: return "index";
    case IndexKind::la: return "laindex";
    case IndexKind::sub: return "subindex";
  }
  SIAL_CHECK(false, "index kind {}", static_cast<int>(kind));
}

std::string kind_name(IndexKind kind) {
  for (const auto& [name, of] : segment_kinds)
    if (of == kind) return name;
  return std::string(index_kind_text(kind));
}

std::string_view array_kind_text(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::static_: return "static";
    case ArrayKind::temp: return "temp";
    case ArrayKind::local: return "local";
    case ArrayKind::contiguous_local: return "contiguous local";
    case ArrayKind::distributed: return "distributed";
    case ArrayKind::served: return "served";
  }
  SIAL_CHECK(false, "array kind {}", static_cast<int>(kind));
}

std::string int_register_text(const Module& module, std::int32_t reg) {
  return reg < static_cast<std::int32_t>(module.ints.size()) ? module.ints[reg].name : fmt::format("%i{}", reg);
}

std::string scalar_register_text(const Module& module, std::int32_t reg) {
  return reg < static_cast<std::int32_t>(module.scalars.size()) ? module.scalars[reg].name : fmt::format("%s{}", reg);
}

std::string bound_text(const Module& module, const Bound& bound) {
  return bound.symbolic ? module.ints[bound.value].name : fmt::format("{}", bound.value);
}

std::string ref_text(const Module& module, const RefRow& ref) {
  std::string text = module.arrays[ref.array.at()].name + "[";
  for (std::size_t d = 0; d < ref.entries.size(); ++d) {
    const RefEntry& e = ref.entries[d];
    if (d > 0) text += ',';
    if (e.as_simple) text += "(index)";
    text += e.index == no_index ? "*" : module.indices[e.index.at()].name;
  }
  return text + "]";
}

std::string region_text(const Module& module, const RegionRow& region) {
  std::string text = module.arrays[region.array.at()].name + "[";
  for (std::size_t d = 0; d < region.lo.size(); ++d) {
    if (d > 0) text += ',';
    text += int_register_text(module, region.lo[d]) + ":" + int_register_text(module, region.hi[d]);
  }
  return text + "]";
}

}  // namespace sial
