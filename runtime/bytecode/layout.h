#pragma once
// What an instruction's operands mean, derived from opcodes.def and used alike by the emitter, the verifier and the
// disassembler. A row of the table is immutable and lives for the whole program.

#include <array>
#include <span>
#include <string_view>

#include "runtime/bytecode/module.h"

namespace sial {

enum class OperandKind : std::uint8_t {
  none, imm, iin, iout, sin, sout, ivar, svar, real, str, ostr, label, loop, proc, index, array, ref, region, special, arg,
  relop, setop, flag, count,
};

struct OpcodeInfo {
  Opcode op;
  std::string_view name;
  std::array<OperandKind, 4> operands;
  std::string_view meaning;
};

/// All rows in the order of opcodes.def.
std::span<const OpcodeInfo> opcode_table();

/// nullptr for a number that no row has.
const OpcodeInfo* opcode_info(Opcode op);

inline std::array<std::int32_t, 4> operands_of(const Instruction& i) { return {i.a, i.b, i.c, i.d}; }

/// What the instruction does with the block or region that its operand `position` (0 to 3) refers to. Only for operands
/// of kind ref and region.
Intent operand_intent(const Instruction& instruction, int position);

/// The intent a signature letter stands for: r, w, u.
Intent letter_intent(char letter);

/// The kind an index has as a selector: its own, or its parent's for a subindex.
IndexKind selector_kind(const Module& module, std::int32_t index);

/// True when an entry of the reference is a subindex on a dimension that is declared over whole segments: the reference
/// denotes a part of a block (slice or insert).
bool is_partial(const Module& module, const RefRow& ref);

/// True when every entry denotes a single position: the block is one number.
bool is_all_simple(const Module& module, const RefRow& ref);

std::string_view relop_text(Relop op);
std::string_view setop_text(SetOp op);
/// Of what an assignment adds; `setop` as the instruction carries it.
inline double sign_of(std::int32_t setop) { return static_cast<SetOp>(setop) == SetOp::subtract ? -1.0 : 1.0; }
std::string_view intent_text(Intent intent);
std::string_view index_kind_text(IndexKind kind);
std::string_view array_kind_text(ArrayKind kind);

/// `name[i,(index)j,*]` and `name[r1:r2,...]` with register names for region bounds.
std::string ref_text(const Module& module, const RefRow& ref);
std::string region_text(const Module& module, const RegionRow& region);
std::string int_register_text(const Module& module, std::int32_t reg);
std::string scalar_register_text(const Module& module, std::int32_t reg);
std::string bound_text(const Module& module, const Bound& bound);

}  // namespace sial
