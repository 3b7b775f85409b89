// Rules that hold between the columns of opcodes.def. A row that breaks one does not compile; the message names the
// rule, and `broken` is the position of the row in the table.
#include "runtime/core/bytecode/opcodes.h"

namespace sial {
namespace {

template <class Rule>
constexpr int broken(Rule rule) {
  int position = 0;
  for (const OpcodeInfo& row : opcode_table()) {
    if (!rule(row)) return position;
    ++position;
  }
  return -1;
}

constexpr bool accessed(OperandKind k) {
  return k == OperandKind::ref || k == OperandKind::region || k == OperandKind::item;
}
constexpr bool writes(OperandAccess a) {
  return a == OperandAccess::out || a == OperandAccess::inout || a == OperandAccess::set;
}

constexpr bool operands_end(const OpcodeInfo& row) {
  for (std::size_t k = 1; k < 4; ++k)
    if (row.operands[k] != OperandKind::none && row.operands[k - 1] == OperandKind::none) return false;
  return true;
}

constexpr bool access_fits(const OpcodeInfo& row) {
  for (std::size_t k = 0; k < 4; ++k) {
    if (accessed(row.operands[k]) && row.access[k] == OperandAccess::none) return false;
    if (k > 0 && row.operands[k] != OperandKind::array && row.operands[k] != OperandKind::item && writes(row.access[k]))
      return false;
    if (row.access[k] == OperandAccess::set && row.count(OperandKind::setop) != 1) return false;
    if (row.operands[k] == OperandKind::item && (k == 0 || row.operands[0] != OperandKind::flag)) return false;
  }
  return true;
}

/// An arithmetic instruction writes register a, of its class.
constexpr bool result_fits(const OpcodeInfo& row) {
  if (row.op_class == OpClass::integer) return row.operands[0] == OperandKind::iout;
  if (row.op_class == OpClass::scalar) return row.operands[0] == OperandKind::sout;
  return row.count(OperandKind::iout) + row.count(OperandKind::sout) == 0;
}

constexpr bool cost_fits(const OpcodeInfo& row) {
  const bool own = row.op_class == OpClass::block || row.op_class == OpClass::memory;
  switch (row.cost) {
    case OpCost::quick: return true;
    case OpCost::fixed: return own;
    case OpCost::elements: return row.op_class == OpClass::block && writes(row.access[0]);
    case OpCost::product: return row.op_class == OpClass::block && row.count(OperandKind::ref) == 3;
    case OpCost::dot:
      return row.op_class == OpClass::scalar && row.operands[1] == OperandKind::ref &&
             row.operands[2] == OperandKind::ref;
    case OpCost::message: return row.op_class == OpClass::fetch || row.op_class == OpClass::put;
    case OpCost::send: return puts_block(row.op);
    case OpCost::body: return row.op_class == OpClass::execute;
  }
  return false;
}

constexpr bool remote_fits(const OpcodeInfo& row) {
  if (row.op_class == OpClass::fetch) return row.operands[0] == OperandKind::ref && row.access[0] == OperandAccess::in;
  if (row.op_class == OpClass::put) return row.operands[0] == OperandKind::ref && writes(row.access[0]);
  return true;
}

constexpr bool implies(bool a, bool b) { return !a || b; }

static_assert(broken(operands_end) == -1, "no operand stands behind an unused one");
static_assert(broken(access_fits) == -1,
              "ref, region and item say what they do; only a is written, but for arrays and items");
static_assert(broken(result_fits) == -1,
              "arithmetic writes register a, of the kind of its class; nothing else writes a plain register");
static_assert(broken(cost_fits) == -1, "the cost fits the class and the operands");
static_assert(broken(remote_fits) == -1, "operand a of a fetch is read, that of a put is written");
static_assert(broken([](const OpcodeInfo& r) {
                return implies(r.has(op::light), r.cost == OpCost::quick || r.cost == OpCost::fixed);
              }) == -1,
              "what is light does not work on elements");
static_assert(broken([](const OpcodeInfo& r) {
                return implies(r.has(op::structural), r.op_class == OpClass::control);
              }) == -1,
              "structure is control");
static_assert(broken([](const OpcodeInfo& r) { return r.has(op::planned) == (static_cast<int>(r.op) >= 150); }) == -1,
              "numbers from 150 on are of instructions that passes write");
static_assert(broken([](const OpcodeInfo& r) {
                return implies(r.has(op::look_ahead),
                               r.op_class == OpClass::control || (is_arithmetic(r.op) && r.cost == OpCost::quick));
              }) == -1,
              "slices run arithmetic and control");
static_assert(broken([](const OpcodeInfo& r) { return implies(r.has(op::ends_phase), r.has(op::collective)); }) == -1,
              "a phase ends for all ranks");
static_assert(broken([](const OpcodeInfo& r) {
                return implies(r.has(op::elementwise), r.op_class == OpClass::block &&
                                                           r.operands[0] == OperandKind::ref &&
                                                           r.cost == OpCost::elements);
              }) == -1,
              "element-wise work is done on block a");
static_assert(broken([](const OpcodeInfo& r) {
                return implies(r.has(op::fusible), (is_arithmetic(r.op) && !uses_blocks(r.op)) ||
                                                       (r.has(op::no_data) && r.access[0] == OperandAccess::in));
              }) == -1,
              "what may stand beside element-wise work touches no block");
static_assert(broken([](const OpcodeInfo& r) {
                return implies(r.has(op::same_order) || r.has(op::shares), r.count(OperandKind::ref) >= 2);
              }) == -1,
              "two blocks are compared or shared");
static_assert(broken([](const OpcodeInfo& r) {
                return implies(r.has(op::frees), r.has(op::no_data) && r.access[0] == OperandAccess::out);
              }) == -1,
              "what is freed is not read");

}  // namespace
}  // namespace sial
