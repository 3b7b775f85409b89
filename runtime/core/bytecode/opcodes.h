#pragma once
// The instruction set as a constexpr table, derived from opcodes.def, and the questions that can be asked about opcodes
// in general. What a column means is said at the head of opcodes.def. A row is immutable and lives for the whole
// program.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sial {

enum class Opcode : std::uint16_t {
#define OPCODE(number, name, ...) name = number,
#include "runtime/core/bytecode/opcodes.def"
#undef OPCODE
};

enum class OperandKind : std::uint8_t {
  none,
  imm,
  iin,
  iout,
  sin,
  sout,
  ivar,
  svar,
  real,
  str,
  ostr,
  label,
  loop,
  proc,
  index,
  array,
  ref,
  region,
  item,
  special,
  arg,
  relop,
  setop,
  flag,
  count,
};

/// The access to the elements of a block, region, array or item; `set`: replaced or changed, as the instruction's
/// assignment operator says.
enum class OperandAccess : std::uint8_t { none, in, out, inout, set };

enum class OpClass : std::uint8_t {
  control,
  integer,
  scalar,
  block,
  memory,
  fetch,
  put,
  sync,
  persist,
  output,
  execute,
  device
};

enum class OpCost : std::uint8_t { quick, fixed, elements, product, dot, message, send, body };

namespace op {
enum Property : std::uint32_t {
  none = 0,
  light = 1u << 0,
  never_fails = 1u << 1,
  structural = 1u << 2,
  planned = 1u << 3,
  look_ahead = 1u << 4,
  collective = 1u << 5,
  ends_phase = 1u << 6,
  elementwise = 1u << 7,
  fusible = 1u << 8,
  same_order = 1u << 9,
  shares = 1u << 10,
  no_data = 1u << 11,
  frees = 1u << 12,
  visible = 1u << 13,
};
}  // namespace op

struct OpcodeInfo {
  Opcode op;
  std::string_view name;
  std::array<OperandKind, 4> operands;
  std::array<OperandAccess, 4> access;
  OpClass op_class;
  OpCost cost;
  std::uint32_t properties;
  std::string_view meaning;

  constexpr bool has(op::Property p) const { return (properties & p) != 0; }
  /// Number of operands of the kind.
  constexpr int count(OperandKind kind) const {
    return static_cast<int>(std::count(operands.begin(), operands.end(), kind));
  }
};

namespace detail {

/// The spelling of operands in opcodes.def.
namespace operand {
struct Spelling {
  OperandKind kind;
  OperandAccess access;
};
#define PLAIN(name) inline constexpr Spelling name{OperandKind::name, OperandAccess::none};
PLAIN(none)
PLAIN(imm)
PLAIN(iin)
PLAIN(iout)
// clang-format off
PLAIN(sin) PLAIN(sout) PLAIN(ivar) PLAIN(svar) PLAIN(real) PLAIN(str) PLAIN(ostr) PLAIN(label) PLAIN(loop) PLAIN(proc)
PLAIN(index) PLAIN(array) PLAIN(special) PLAIN(arg) PLAIN(relop) PLAIN(setop) PLAIN(flag) PLAIN(count)
#undef PLAIN
#define ACCESSED(name, how) inline constexpr Spelling name##_##how{OperandKind::name, OperandAccess::how};
ACCESSED(ref, in) ACCESSED(ref, out) ACCESSED(ref, inout) ACCESSED(ref, set) ACCESSED(region, in) ACCESSED(region, out)
ACCESSED(array, in) ACCESSED(array, out) ACCESSED(array, inout)
ACCESSED(item, in) ACCESSED(item, out)
// clang-format on
#undef ACCESSED
}  // namespace operand

namespace opcode_rows {
using namespace op;
inline constexpr OpcodeInfo table[] = {
#define OPCODE(number, name, a, b, c, d, op_class, cost, properties, meaning)    \
  {Opcode::name,                                                                 \
   #name,                                                                        \
   {operand::a.kind, operand::b.kind, operand::c.kind, operand::d.kind},         \
   {operand::a.access, operand::b.access, operand::c.access, operand::d.access}, \
   OpClass::op_class,                                                            \
   OpCost::cost,                                                                 \
   properties,                                                                   \
   meaning},
#include "runtime/core/bytecode/opcodes.def"
#undef OPCODE
};
}  // namespace opcode_rows

inline constexpr std::size_t highest_opcode = [] {
  std::size_t h = 0;
  for (const OpcodeInfo& row : opcode_rows::table) h = std::max(h, static_cast<std::size_t>(row.op));
  return h;
}();

inline constexpr auto opcode_by_number = [] {
  std::array<const OpcodeInfo*, highest_opcode + 1> rows{};
  for (const OpcodeInfo& row : opcode_rows::table) rows[static_cast<std::size_t>(row.op)] = &row;
  return rows;
}();

}  // namespace detail

/// All rows in the order of opcodes.def.
constexpr std::span<const OpcodeInfo> opcode_table() { return detail::opcode_rows::table; }

/// nullptr for a number that no row has.
constexpr const OpcodeInfo* opcode_info(Opcode op) {
  const auto n = static_cast<std::size_t>(op);
  return n <= detail::highest_opcode ? detail::opcode_by_number[n] : nullptr;
}

// These are for opcodes that have a row.
constexpr OpClass op_class(Opcode o) { return opcode_info(o)->op_class; }
constexpr OpCost op_cost(Opcode o) { return opcode_info(o)->cost; }
constexpr bool has(Opcode o, op::Property p) { return opcode_info(o)->has(p); }

/// Arithmetic on registers. What uses blocks beside: `uses_blocks`.
constexpr bool is_arithmetic(Opcode o) { return op_class(o) == OpClass::integer || op_class(o) == OpClass::scalar; }
constexpr bool uses_blocks(Opcode o) { return opcode_info(o)->count(OperandKind::ref) > 0; }
/// A put whose source is a block, not a number.
constexpr bool puts_block(Opcode o) {
  return op_class(o) == OpClass::put && opcode_info(o)->count(OperandKind::ref) == 2;
}
constexpr bool begins_loop(Opcode o) {
  return o == Opcode::do_begin || o == Opcode::sub_begin || o == Opcode::pardo_begin;
}
constexpr bool ends_loop(Opcode o) { return o == Opcode::do_next || o == Opcode::sub_next || o == Opcode::pardo_next; }
/// Ranks wait for each other: collectives that bring no array into being or out of it.
constexpr bool synchronizes(Opcode o) {
  return has(o, op::collective) && (op_class(o) == OpClass::sync || op_class(o) == OpClass::control);
}

}  // namespace sial
