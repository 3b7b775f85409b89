#pragma once
// The meaning of an instruction's operands, by its row in opcodes.def: used alike by the emitter, the verifier, the
// disassembler and whoever follows what instructions read and write.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/bytecode/module.h"

namespace sial {

inline std::array<std::int32_t, 4> operands_of(const Instruction& i) { return {i.a, i.b, i.c, i.d}; }

/// The instruction's intent for the block, region, array or item that its operand `position` (0 to 3) refers to. Only
/// for operands with an access.
Intent operand_intent(const Instruction& instruction, int position);

/// The assignment of block a: the operator among the operands; without one, `=` when a is replaced and `+=` when it is
/// changed.
SetOp assignment_of(const Instruction& instruction);

/// Contributes to a remote block, so that the order of ranks and their number does not matter to others.
inline bool adds_to_remote(const Instruction& i) {
  return op_class(i.op) == OpClass::put && (assignment_of(i) == SetOp::add || assignment_of(i) == SetOp::subtract);
}

/// Calls f(reference row, intent) for the blocks among the operands, in their order.
template <class F>
void for_each_block(const Instruction& i, F&& f) {
  const OpcodeInfo& info = *opcode_info(i.op);
  const auto values = operands_of(i);
  for (int p = 0; p < 4; ++p)
    if (info.operands[static_cast<std::size_t>(p)] == OperandKind::ref)
      f(values[static_cast<std::size_t>(p)], operand_intent(i, p));
}

/// Calls f(ArgRow) for the arguments of a super instruction, or for what a device instruction names.
template <class F>
void for_each_argument(const Module& m, const Instruction& i, F&& f) {
  const OpcodeInfo& info = *opcode_info(i.op);
  const auto values = operands_of(i);
  for (std::size_t p = 0; p < 4; ++p) {
    if (info.operands[p] != OperandKind::arg) continue;
    const std::int32_t count = p < 3 && info.operands[p + 1] == OperandKind::count ? values[p + 1] : 1;
    for (std::int32_t k = 0; k < count; ++k) f(m.args[static_cast<std::size_t>(values[p] + k)]);
  }
}

/// The intent a signature letter stands for: r, w, u.
Intent letter_intent(char letter);

/// The kind an index has as a selector: its own, or its parent's for a subindex.
IndexKind selector_kind(const Module& module, IndexId index);

/// True when an entry of the reference is a subindex on a dimension that is declared over whole segments: the reference
/// denotes a part of a block (slice or insert).
bool is_partial(const Module& module, const RefRow& ref);

/// True when every entry denotes a single position: the block is one number.
bool is_all_simple(const Module& module, const RefRow& ref);

std::string_view relop_text(Relop op);
std::string_view setop_text(SetOp op);
/// The sign of what an assignment adds; `setop` as the instruction carries it.
inline double sign_of(std::int32_t setop) { return static_cast<SetOp>(setop) == SetOp::subtract ? -1.0 : 1.0; }
std::string_view intent_text(Intent intent);
std::string_view index_kind_text(IndexKind kind);
/// Kinds of indices that have segments, by their names in job files, options and results.
inline constexpr std::pair<const char*, IndexKind> segment_kinds[] = {{"ao", IndexKind::ao},
                                                                      {"mo", IndexKind::mo},
                                                                      {"moa", IndexKind::moa},
                                                                      {"mob", IndexKind::mob},
                                                                      {"la", IndexKind::la}};
/// The name among these; of other kinds the word that declares an index.
std::string kind_name(IndexKind kind);
std::string_view array_kind_text(ArrayKind kind);

/// `name[i,(index)j,*]` and `name[r1:r2,...]` with register names for region bounds.
std::string ref_text(const Module& module, const RefRow& ref);
std::string region_text(const Module& module, const RegionRow& region);
std::string int_register_text(const Module& module, std::int32_t reg);
std::string scalar_register_text(const Module& module, std::int32_t reg);
std::string bound_text(const Module& module, const Bound& bound);

}  // namespace sial
