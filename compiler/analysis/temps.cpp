#include "compiler/analysis/temps.h"

#include "compiler/analysis/operands.h"

namespace sial::analysis {
namespace {

void unite(std::vector<bool>& into, const std::vector<bool>& other) {
  for (std::size_t a = 0; a < into.size(); ++a)
    if (other[a]) into[a] = true;
}

}  // namespace

TempScopes::TempScopes(const ir::Program& program) : p_(program) {
  Set others(program.arrays.size());
  for (std::size_t a = 0; a < others.size(); ++a) others[a] = program.arrays[a].kind != ArrayKind::temp;
  for (const ir::Procedure& proc : program.procs) {
    Set set(program.arrays.size());
    created(proc.body, set);
    escapes_.push_back(std::move(set));
  }
  entry_.assign(program.procs.size(), others);
  scope(program.main, others);
  for (std::size_t q = program.procs.size(); q-- > 0;) scope(program.procs[q].body, entry_[q]);  // callers before callees
}

/// Temps that the body makes in its own scope: not in loops.
void TempScopes::created(const ir::Body& body, Set& set) const {
  for (const ir::Node& n : body) {
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
      if (i->op == Opcode::call) {
        const auto callee = static_cast<std::size_t>(std::get<ir::ProcId>(i->operands[0]).row);
        if (callee < escapes_.size()) unite(set, escapes_[callee]);
        continue;
      }
      for (const ArrayUse& u : array_uses(p_, *i))
        if (u.writes() && u.side == Side::own) set[static_cast<std::size_t>(u.array)] = true;
    } else if (const auto* branch = std::get_if<ir::If>(&n.value)) {
      created(branch->then_body, set);
      created(branch->else_body, set);
    }
  }
}

void TempScopes::scope(const ir::Body& body, const Set& around) {
  Set here = around;
  created(body, here);
  inside(body, here);
}

void TempScopes::inside(const ir::Body& body, const Set& here) {
  for (const ir::Node& n : body) {
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
      if (i->op == Opcode::call) unite(entry_[static_cast<std::size_t>(std::get<ir::ProcId>(i->operands[0]).row)], here);
    } else if (const auto* loop = std::get_if<ir::Loop>(&n.value)) {
      around_.emplace(n.id, here);
      scope(loop->body, here);
    } else if (const auto* branch = std::get_if<ir::If>(&n.value)) {
      inside(branch->then_body, here);
      inside(branch->else_body, here);
    } else {
      inside(std::get<ir::Section>(n.value).body, here);
    }
  }
}

}  // namespace sial::analysis
