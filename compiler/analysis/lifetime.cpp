#include "compiler/analysis/lifetime.h"

#include <algorithm>

#include "compiler/analysis/lifetime_context.h"

namespace sial::analysis {

LifetimeContext::LifetimeContext(const ir::Program& program, std::vector<std::vector<UseFacts>>& facts)
    : p_(program),
      summaries_(program),
      facts_(facts),
      calls_(program),
      saved_(program.arrays.size()),
      uses_of_(static_cast<std::size_t>(program.n_nodes)) {
  refs_.reserve(p_.procs.size() + 1);
  for (std::size_t q = 0; q <= p_.procs.size(); ++q) {
    const bool main = q == p_.procs.size();
    std::vector<const References*> inner;
    for (const std::int32_t callee : calls_.callees(main ? -1 : static_cast<std::int32_t>(q)))
      if (static_cast<std::size_t>(callee) < q)
        inner.push_back(&refs_[static_cast<std::size_t>(callee)]);  // one that calls itself has its own
    const ir::Body& b = main ? p_.main : p_.procs[q].body;
    refs_.emplace_back(p_, b, inner);
    number(b, refs_.back());
  }
}

void LifetimeContext::number(const ir::Body& body, const References& refs) {
  for_each_instr(body, [&](const ir::Instr& i, const ir::Node& n) {
    const std::size_t first = uses_.size();
    for (const ArrayUse& u : array_uses(p_, i)) {
      Use& use = uses_.emplace_back();
      static_cast<ArrayUse&>(use) = u;
      if (u.side == Side::own && u.block != nullptr && !has_wildcard(*u.block)) {
        use.ref = refs.id(*u.block);
        use.replaced = replaces(p_, i, u);
      }
    }
    uses_of_[static_cast<std::size_t>(n.id)] = {first, uses_.size() - first};
    steps += uses_.size() - first + 1;
    if (!effects_of(p_, i).persistent) return;
    for (std::size_t k = first; k < uses_.size(); ++k) saved_[uses_[k].array.at()] = 1;
  });
}

const std::vector<std::int32_t>& LifetimeContext::names_of(std::int32_t callee, std::int32_t caller) {
  const auto [at, fresh] = called_names_.try_emplace({callee, caller});
  if (!fresh) return at->second;
  const References &from = references(callee), &to = references(caller);
  for (std::size_t k = 0; k < from.size(); ++k) at->second.push_back(to.find(from.key(static_cast<std::int32_t>(k))));
  steps += from.size();
  return at->second;
}

const std::vector<std::int32_t>& LifetimeContext::inside(const ir::Node& loop, std::int32_t proc) {
  const auto [at, fresh] = inside_.try_emplace(loop.id);
  std::vector<std::int32_t>& result = at->second;  // stays where it is when others are added
  if (!fresh) return result;
  const ir::Loop& l = std::get<ir::Loop>(loop.value);
  std::vector<std::int32_t> list;
  for (const ir::Where& w : l.wheres) collect(w.code, proc, list);
  collect(l.body, proc, list);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  steps += list.size();
  return result = std::move(list);
}

void LifetimeContext::collect(const ir::Body& nodes, std::int32_t proc, std::vector<std::int32_t>& list) {
  for (const ir::Node& n : nodes) {
    if (const ir::Instr* i = instr_of(n)) {
      for (const Use& u : uses(n))
        if (u.ref >= 0) list.push_back(u.ref);
      if (i->op != Opcode::call) continue;
      const std::vector<std::int32_t>& names = names_of(std::get<ir::ProcId>(i->operands[0]).row, proc);
      list.insert(list.end(), names.begin(), names.end());
    } else if (std::holds_alternative<ir::Loop>(n.value)) {
      const std::vector<std::int32_t>& inner = inside(n, proc);
      list.insert(list.end(), inner.begin(), inner.end());
    } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
      collect(b->then_body, proc, list);
      collect(b->else_body, proc, list);
    } else {
      collect(std::get<ir::Section>(n.value).body, proc, list);
    }
  }
}

Lifetimes::Lifetimes(const ir::Program& program) : facts_(static_cast<std::size_t>(program.n_nodes)) {
  LifetimeContext context(program, facts_);
  find_last_uses(context);
  find_initialised(context);
  steps_ = context.steps;
}

const UseFacts* Lifetimes::find(ir::NodeId node, std::size_t operand) const {
  for (const UseFacts& f : facts_[static_cast<std::size_t>(node)])
    if (f.operand == operand) return &f;
  return nullptr;
}

}  // namespace sial::analysis
