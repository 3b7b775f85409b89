#pragma once
// Stretches of code together with the procedures that they call, directly or through others, each once.

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial {

/// Whether f(pc, instruction, called) says so of an instruction of [from, to) or of a procedure called there; none is
/// looked at after the first. `called`: it is part of a procedure.
template <class F>
bool any_with_calls(const Module& module, std::int32_t from, std::int32_t to, F&& f) {
  std::set<std::int32_t> entered;
  std::vector<std::pair<std::int32_t, std::int32_t>> todo{{from, to}};
  bool called = false;
  while (!todo.empty()) {
    const auto [first, last] = todo.back();
    todo.pop_back();
    for (std::int32_t pc = first; pc < last; ++pc) {
      const Instruction& in = module.code[static_cast<std::size_t>(pc)];
      if (f(pc, in, called)) return true;
      if (in.op != Opcode::call || !entered.insert(in.a).second) continue;
      const ProcRow& proc = module.procs[static_cast<std::size_t>(in.a)];
      todo.emplace_back(proc.entry, proc.end);
    }
    called = true;
  }
  return false;
}

/// The same for all of them.
template <class F>
void for_each_with_calls(const Module& module, std::int32_t from, std::int32_t to, F&& f) {
  any_with_calls(module, from, to, [&](std::int32_t pc, const Instruction& in, bool called) {
    f(pc, in, called);
    return false;
  });
}

}  // namespace sial
