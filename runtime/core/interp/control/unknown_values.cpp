#include "runtime/core/interp/control/unknown_values.h"

#include "runtime/core/bytecode/opcodes.h"

namespace sial {
namespace {

struct Part {
  std::int32_t begin = 0, end = 0;
};

/// The loop that a part leaves, -1: none.
std::int32_t exit_of(const Module& m, Part part) {
  for (std::int32_t pc = part.begin; pc < part.end; ++pc)
    if (m.code[pc].op == Opcode::exit_loop) return m.code[pc].a;
  return -1;
}

bool stops(const Module& m, Part part) {
  for (std::int32_t pc = part.begin; pc < part.end; ++pc)
    if (m.code[pc].op == Opcode::stop) return true;
  return false;
}

bool works(const Module& m, Part part) {
  for (std::int32_t pc = part.begin; pc < part.end; ++pc) {
    const Opcode op = m.code[pc].op;
    const OpClass of = op_class(op);
    const bool registers = of == OpClass::integer || of == OpClass::scalar || of == OpClass::output;
    if (op == Opcode::call || uses_blocks(op) || (!registers && of != OpClass::control)) return true;
  }
  return false;
}

void lose_scalars(const Module& m, Part part, std::vector<std::int32_t>& lost) {
  for (std::int32_t pc = part.begin; pc < part.end; ++pc)
    if (op_class(m.code[pc].op) == OpClass::scalar) lost.push_back(m.code[pc].a);
}

}  // namespace

UnknownBranch unknown_branch(const Module& m, std::int32_t pc) {
  const Instruction& in = m.code[pc];
  const Instruction& last = m.code[in.b - 1];
  const bool has_else = in.b - 1 > pc && last.op == Opcode::jump && last.a >= in.b;
  const Part first{pc + 1, has_else ? in.b - 1 : in.b};
  const Part second{in.b, has_else ? last.a : in.b};
  UnknownBranch branch;
  if (const std::int32_t loop = exit_of(m, first); loop >= 0) {
    branch.exits = loop;
    branch.exit_at = first.begin;
    branch.next = second.begin;
  } else if (const std::int32_t other = exit_of(m, second); other >= 0) {
    branch.exits = other;
    branch.exit_at = second.begin;
    branch.next = first.begin;
  } else if (!stops(m, first) && (stops(m, second) || works(m, first))) {
    branch.next = first.begin;
  } else if (stops(m, first) || works(m, second)) {
    branch.next = second.begin;
  } else {
    branch.next = second.end;
    lose_scalars(m, first, branch.lost);
    lose_scalars(m, second, branch.lost);
  }
  return branch;
}

}  // namespace sial
