#include "compiler/plan/local/local.h"

#include <algorithm>

#include "runtime/core/base/fault_injection.h"

namespace sial::plan {
namespace {

constexpr int max_rounds = 4;  // chains of temps are folded one link a round

/// The statement list of `outer` that holds `inner`.
const ir::Body* list_with(const ir::Node& outer, const ir::Node& inner) {
  const auto holds = [&](const ir::Body& list) {
    return !list.empty() && &inner >= list.data() && &inner < list.data() + list.size();
  };
  if (const auto* l = std::get_if<ir::Loop>(&outer.value)) return holds(l->body) ? &l->body : nullptr;
  if (const auto* b = std::get_if<ir::If>(&outer.value))
    return holds(b->then_body) ? &b->then_body : holds(b->else_body) ? &b->else_body : nullptr;
  const auto* s = std::get_if<ir::Section>(&outer.value);
  return s != nullptr && holds(s->body) ? &s->body : nullptr;
}

}  // namespace

bool distinct_labels(const ir::Block& block) {
  for (std::size_t d = 0; d < block.entries.size(); ++d)
    if (std::find(block.entries.begin(), block.entries.begin() + static_cast<std::ptrdiff_t>(d), block.entries[d]) !=
        block.entries.begin() + static_cast<std::ptrdiff_t>(d))
      return false;
  return true;
}

bool same_labels(const ir::Block& a, const ir::Block& b) {
  return a.entries.size() == b.entries.size() && distinct_labels(a) && distinct_labels(b) &&
         std::all_of(a.entries.begin(), a.entries.end(), [&](const RefEntry& e) {
           return std::find(b.entries.begin(), b.entries.end(), e) != b.entries.end();
         });
}

bool same_order(const ir::Block& a, const ir::Block& b) { return a.entries == b.entries; }

Local::Local(ir::Program& program, Plan& plan, std::string_view pass)
    : p_(program),
      plan_(plan),
      pass_(pass),
      known_(program.n_nodes),
      summaries_(program),
      lifetimes_(program),
      traffic_(program) {}

bool Local::may_change(const ir::Node& node, const ir::Block& block) {
  const bool remote = analysis::is_remote_array(p_, block.array);
  const bool named = kind(block) == ArrayKind::static_ || kind(block) == ArrayKind::contiguous_local;
  if (const ir::Instr* i = instr_of(node); i != nullptr && i->op != Opcode::call) {
    const analysis::Effects e = analysis::effects_of(p_, *i);
    if ((e.barrier && remote) || (e.writes_by_name && named)) return true;
    for (const analysis::ArrayUse& u : analysis::array_uses(p_, *i)) {
      if (u.array != block.array || !u.writes() || u.side != analysis::Side::own) continue;
      if (u.block == nullptr || analysis::has_wildcard(*u.block) ||
          analysis::alias(p_, *u.block, block) != analysis::Alias::never)
        return true;
    }
    return false;
  }
  const analysis::Summary& s = summary(node);
  if (s.barrier && remote) return true;
  return s.may_write(p_, block.array);
}

const analysis::Summary& Local::summary(const ir::Node& node) {
  if (const ir::Instr* i = instr_of(node)) {
    if (i->op == Opcode::call) return summaries_.of_proc(std::get<ir::ProcId>(i->operands[0]).row);
    return of_instr_ = summaries_.of_instr(*i);
  }
  return summaries_.of_node(node);
}

bool Local::touches(const ir::Node& node, ArrayId array) {
  const analysis::Summary& s = summary(node);
  const analysis::ArrayTouch* t = s.find(array);
  return (t != nullptr && t->own.any()) || s.may_read(p_, array) || s.may_write(p_, array);
}

bool Local::writes(const ir::Node& node, ArrayId array) { return summary(node).may_write(p_, array); }

bool Local::may_update(const ir::Node& node, const ir::Block& block) {
  if (const ir::Instr* i = instr_of(node); i != nullptr && i->op != Opcode::call) {
    for (const analysis::ArrayUse& u : analysis::array_uses(p_, *i)) {
      if (u.array != block.array || !u.writes() || u.side != analysis::Side::own) continue;
      if (u.block != nullptr && analysis::replaces(p_, *i, u)) continue;
      if (u.block == nullptr || analysis::has_wildcard(*u.block) ||
          analysis::alias(p_, *u.block, block) != analysis::Alias::never)
        return true;
    }
    return false;
  }
  const analysis::ArrayTouch* t = summary(node).find(block.array);
  return t != nullptr && t->own.accumulated;
}

/// Whether the node may leave a block of the array to the statements after it: what loops make ends with their
/// iterations.
bool Local::made_here(const ir::Node& node, ArrayId array) {
  if (std::holds_alternative<ir::Loop>(node.value)) return false;
  return touches(node, array);
}

/// Whether the array is used on this rank by other procedures or by the main body itself: that the procedure is called
/// there is no matter.
bool Local::used_outside(std::int32_t proc, ArrayId array) {
  if (!users_known_) {
    users_known_ = true;
    for (std::size_t k = 0; k < p_.procs.size(); ++k) {
      const analysis::Summary& s = summaries_.of_proc(static_cast<std::int32_t>(k));
      if (s.reads_by_name || s.writes_by_name) look_up_.push_back(static_cast<std::int32_t>(k));
      for (const analysis::ArrayTouch& t : s.arrays)
        if (t.own.any()) users_[t.array].push_back(static_cast<std::int32_t>(k));
    }
    analysis::for_each_instr(p_.main, [&](const ir::Instr& i, const ir::Node&) {
      if (i.op == Opcode::call) return;
      const analysis::Effects e = analysis::effects_of(p_, i);
      if (e.reads_by_name || e.writes_by_name) look_up_.push_back(-1);
      for (const analysis::ArrayUse& u : analysis::array_uses(p_, i))
        if (u.side == analysis::Side::own && (users_[u.array].empty() || users_[u.array].back() >= 0))
          users_[u.array].push_back(-1);
    });
  }
  const auto other = [&](const std::vector<std::int32_t>& list) {
    return std::any_of(list.begin(), list.end(), [&](std::int32_t k) { return k != proc; });
  };
  const bool named = kind_of(array) == ArrayKind::static_ || kind_of(array) == ArrayKind::contiguous_local;
  const auto at = users_.find(array);
  return (at != users_.end() && other(at->second)) || (named && other(look_up_));
}

/// Positions in the outermost list of a procedure (-1: main) whose nodes may read or write blocks of a temp.
const std::vector<std::size_t>& Local::top_touches(std::int32_t proc, const ir::Body& list, ArrayId array) {
  const auto [at, fresh] = top_touches_.try_emplace(proc);
  if (fresh)
    for (std::size_t k = 0; k < list.size(); ++k)
      for (const analysis::ArrayTouch& t : summary(list[k]).arrays)
        if (t.own.any()) at->second[t.array].push_back(k);
  static const std::vector<std::size_t> none;
  const auto found = at->second.find(array);
  return found == at->second.end() ? none : found->second;
}

/// Whether blocks of the array that exist in the list at `path` are of its innermost loop's iteration, and stay unused
/// after the branches around the list.
bool Local::of_this_loop(const analysis::Path& path, ArrayId array) {
  if (path.proc >= 0 && used_outside(path.proc, array)) return false;  // whatever its callers may have made
  bool after_loop = false;
  for (std::size_t depth = path.enclosing.size(); depth-- > 0;) {
    const ir::Node* around = path.enclosing[depth];
    after_loop = after_loop || std::holds_alternative<ir::Loop>(around->value);
    const ir::Body* list = path.proc < 0 ? &p_.main : &p_.procs[static_cast<std::size_t>(path.proc)].body;
    if (depth > 0) list = list_with(*path.enclosing[depth - 1], *around);
    if (list == nullptr) return false;
    const auto here = static_cast<std::size_t>(around - list->data());
    // Lists around are as they were: passes rewrite inner ones first. The outermost is the long one.
    if (depth == 0 && kind_of(array) == ArrayKind::temp) {
      for (const std::size_t k : top_touches(path.proc, *list, array))
        if (after_loop ? k < here && made_here((*list)[k], array) : k > here) return false;
      continue;
    }
    for (std::size_t k = 0; k < list->size(); ++k)
      if (after_loop ? k < here && made_here((*list)[k], array) : k > here && touches((*list)[k], array)) return false;
  }
  return true;
}

bool Local::last_use(const ir::Body& list, const analysis::Path& path, std::size_t at, std::size_t operand) {
  if (!may_end(list[at], operand)) return false;
  const ir::Block* block = block_of(*instr_of(list[at]), operand);
  bool made = false;
  for (std::size_t k = 0; k < at && !made; ++k) {
    const ir::Instr* before = instr_of(list[k]);
    if (before == nullptr) continue;
    for (const analysis::ArrayUse& w : analysis::array_uses(p_, *before))
      made |= w.block != nullptr && w.side == analysis::Side::own && analysis::replaces(p_, *before, w) &&
              same_reference(*w.block, *block);
  }
  for (std::size_t k = at + 1; k < list.size() && made; ++k) made = !touches(list[k], block->array);
  return made && (of_this_loop(path, block->array) || fault_enabled(Fault::free_early_of_outer_loop));
}

bool Local::may_end(const ir::Node& node, std::size_t operand) const {
  const ir::Block* block = block_of(*instr_of(node), operand);
  return block != nullptr && kind(*block) == ArrayKind::temp && !analysis::is_part(p_, *block) &&
         dead_after(node, operand);
}

Local::LastUses::Reference Local::LastUses::reference(const ir::Block& block) {
  Reference r{block.array.number()};
  for (const RefEntry& e : block.entries) r.push_back(2 * e.index.number() + (e.as_simple ? 1 : 0));
  return r;
}

Local::LastUses::LastUses(Local& local, const ir::Body& list, const analysis::Path& path)
    : l_(local), list_(list), path_(path) {
  for (std::size_t k = 0; k < list.size(); ++k) {
    for (const analysis::ArrayTouch& t : l_.summary(list[k]).arrays)
      if (t.own.any()) touched_[t.array] = k;
    const ir::Instr* i = instr_of(list[k]);
    if (i == nullptr) continue;
    for (const analysis::ArrayUse& w : analysis::array_uses(l_.p_, *i))
      if (w.block != nullptr && w.side == analysis::Side::own && analysis::replaces(l_.p_, *i, w))
        made_.try_emplace(reference(*w.block), k);
  }
}

bool Local::LastUses::is_last(std::size_t at, std::size_t operand) {
  if (!l_.may_end(list_[at], operand)) return false;
  const ir::Block& block = *block_of(*instr_of(list_[at]), operand);
  const auto made = made_.find(reference(block));
  if (made == made_.end() || made->second >= at || touched_.at(block.array) > at) return false;
  return l_.of_this_loop(path_, block.array) || fault_enabled(Fault::free_early_of_outer_loop);
}

bool in_range(const ir::Program& program, const ir::Block& block) {
  const ArrayRow& array = program.arrays[block.array.at()];
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    if (e.index == array.dims[d] && !e.as_simple) continue;
    if (e.index == no_index) return false;
    const IndexRow& used = program.indices[e.index.at()];
    const IndexRow& declared = program.indices[array.dims[d].at()];
    if (used.kind == IndexKind::sub || declared.kind == IndexKind::sub) return false;
    const bool equal = used.lo == declared.lo && used.hi == declared.hi;
    const bool within = !used.lo.symbolic && !used.hi.symbolic && !declared.lo.symbolic && !declared.hi.symbolic &&
                        declared.lo.value <= used.lo.value && used.hi.value <= declared.hi.value;
    if (!equal && !within) return false;
  }
  return true;
}

const double* Local::constant(const ir::Body& body, std::size_t at, std::int32_t reg) {
  double sign = 1.0;
  while (at-- > 0) {
    const ir::Instr* i = instr_of(body[at]);
    if (i == nullptr || i->operands.empty()) return nullptr;
    const auto* target = std::get_if<ir::ScalarReg>(&i->operands[0]);
    if (target == nullptr || target->reg != reg) return nullptr;
    if (i->op == Opcode::real_const) {
      constant_ = sign * std::get<ir::Real>(i->operands[1]).value;
      return &constant_;
    }
    if (i->op != Opcode::real_neg) return nullptr;
    sign = -sign;
    reg = scalar_of(*i, 1);
  }
  return nullptr;
}

void Local::expect(ir::Body& out, const ir::Node& at, std::size_t operand, bool counts) {
  const ir::Block* block = block_of(*instr_of(at), operand);
  if (!counts && initialised(at, operand) && in_range(*block)) return;
  out.push_back(make(at.place, Opcode::expect, {with_intent(*block, Intent::read), ir::Flag{counts}}));
}

Cost Local::bytes(const ir::Block& block) const {
  Cost cost = Cost::constant(8.0);
  for (const RefEntry& e : block.entries) {
    if (e.index == no_index || e.as_simple) continue;
    const IndexRow& index = p_.indices[e.index.at()];
    if (index.kind == IndexKind::simple) continue;
    if (index.kind == IndexKind::sub) cost = cost * Cost::extent(index.parent) * (1.0 / subsegments_per_segment);
    else cost = cost * Cost::extent(e.index);
  }
  return cost;
}

void Local::remark(RemarkKind kind, std::string_view name, const ir::Node& at, const analysis::Path& path,
                   const ir::Block& block, std::string text, std::string advice, double passes) {
  RemarkRow row;
  row.kind = kind;
  row.pass = pass_;
  row.name = name;
  row.place = at.place;
  row.array = block.array;
  row.text = std::move(text);
  row.advice = std::move(advice);
  row.bytes = bytes(block) * passes;
  row.executions = traffic_.executions(path);
  std::string key = row.pass + '\n' + row.name + '\n' + std::to_string(row.place.file) + ':' +
                    std::to_string(row.place.line) + ':' + std::to_string(row.place.column) + '\n' + row.text;
  if (plan_.said.insert(std::move(key)).second) plan_.remarks.push_back(std::move(row));
}

void rewrite_bodies(ir::Program& program, Plan& plan, std::string_view pass,
                    const std::function<bool(Local&, ir::Body&, const analysis::Path&)>& visit_body) {
  for (int round = 0; round < max_rounds; ++round) {
    Local local(program, plan, pass);
    bool changed = false;
    analysis::for_each_body(
        program, [&](ir::Body& body, const analysis::Path& path) { changed |= visit_body(local, body, path); });
    if (!changed) return;
  }
}

}  // namespace sial::plan
