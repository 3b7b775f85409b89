#include "compiler/analysis/ranges.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/core/base/shape.h"

namespace sial::analysis {
namespace {

/// `cost` with one factor #index less in every term; false when a term has none.
bool divide(Cost& cost, IndexId index) {
  Cost result;
  for (const CostTerm& t : cost.terms) {
    CostTerm copy = t;
    const auto at = std::find(copy.factors.begin(), copy.factors.end(), CostFactor{FactorKind::count, index});
    if (at == copy.factors.end()) return false;
    copy.factors.erase(at);
    result += Cost{{copy}};
  }
  cost = std::move(result);
  return true;
}

bool has(const std::vector<IndexId>& sorted, IndexId x) { return std::binary_search(sorted.begin(), sorted.end(), x); }

void insert(std::vector<IndexId>& sorted, IndexId x) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), x);
  if (at == sorted.end() || *at != x) sorted.insert(at, x);
}

Executions half(Executions e) {
  e.fraction *= 0.5;
  e.exact = false;
  return e;
}

Executions sum(const Executions& a, const Executions& b) {
  if (a.most.is_zero()) return b;
  if (b.most.is_zero()) return a;
  Executions r = a;
  r.most += b.most;
  r.fraction = (a.fraction + b.fraction) / 2;  // their weights are symbolic
  r.exact = a.exact && b.exact;
  r.per_rank = a.per_rank && b.per_rank;
  for (const IndexId i : b.constrained) insert(r.constrained, i);
  return r;
}

Relop mirrored(Relop op) {
  switch (op) {
    case Relop::lt: return Relop::gt;
    case Relop::le: return Relop::ge;
    case Relop::gt: return Relop::lt;
    case Relop::ge: return Relop::le;
    default: return op;
  }
}

/// Two free indices over one range.
Executions narrowed_pair(const Executions& from, IndexId b, Relop op) {
  Executions r = from;
  Cost diagonal = from.most;
  if (!divide(diagonal, b)) return half(from);
  Cost all = from.most;
  switch (op) {
    case Relop::eq: r.most = diagonal; break;
    case Relop::ne: r.most = all + diagonal * -1.0; break;
    case Relop::lt:
    case Relop::gt: r.most = (all + diagonal * -1.0) * 0.5; break;
    case Relop::le:
    case Relop::ge: r.most = (all + diagonal) * 0.5; break;
  }
  return r;
}

/// A free index with a number.
Executions narrowed_number(const ir::Program& p, const Executions& from, IndexId index, Relop op, std::int64_t number) {
  const IndexRow& i = index_row(p, index);
  Executions r = from;
  Cost one = from.most;
  if (!divide(one, index)) return half(from);
  if (i.lo.symbolic || i.hi.symbolic) {
    if (op != Relop::eq) return half(from);
    r.most = one;  // at most one value; whether the range has it, the job decides
    r.exact = false;
    return r;
  }
  const std::int64_t lo = i.lo.value, hi = i.hi.value;
  std::int64_t n = 0;
  for (const auto& [first, last] :
       std::initializer_list<std::pair<std::int64_t, std::int64_t>>{op == Relop::lt   ? std::pair(lo, number - 1)
                                                                    : op == Relop::le ? std::pair(lo, number)
                                                                    : op == Relop::gt ? std::pair(number + 1, hi)
                                                                    : op == Relop::ge ? std::pair(number, hi)
                                                                                      : std::pair(number, number)}) {
    n = std::max<std::int64_t>(0, std::min(last, hi) - std::max(first, lo) + 1);
  }
  if (op == Relop::ne) n = hi - lo + 1 - n;
  r.most = one * static_cast<double>(n);
  return r;
}

bool same_range(const IndexRow& a, const IndexRow& b) {
  return a.lo == b.lo && a.hi == b.hi && a.kind != IndexKind::sub && b.kind != IndexKind::sub;
}

}  // namespace

Relop negated(Relop op) {
  switch (op) {
    case Relop::lt: return Relop::ge;
    case Relop::le: return Relop::gt;
    case Relop::gt: return Relop::le;
    case Relop::ge: return Relop::lt;
    case Relop::eq: return Relop::ne;
    case Relop::ne: break;
  }
  return Relop::eq;
}

Comparison comparison_of(const ir::Node* first, const ir::Node* last, std::int32_t condition) {
  Comparison result;
  std::unordered_map<std::int32_t, Comparison::Side> value;
  const auto side = [&](const ir::Operand& o) {
    const auto at = value.find(std::get<ir::IntReg>(o).reg);
    return at == value.end() ? Comparison::Side{} : at->second;
  };
  for (const ir::Node* n = first; n < last; ++n) {
    const auto* i = std::get_if<ir::Instr>(&n->value);
    if (i == nullptr) {
      value.clear();
      result = {};
      continue;
    }
    const auto target = [&] { return std::get<ir::IntReg>(i->operands[0]).reg; };
    if (i->op == Opcode::int_index) {
      value[target()] = {std::get<IndexId>(i->operands[1]), 0, false};
    } else if (i->op == Opcode::int_const) {
      value[target()] = {no_index, std::get<ir::Imm>(i->operands[1]).value, true};
    } else if (i->op == Opcode::int_compare) {
      if (target() == condition)
        result = {side(i->operands[1]), side(i->operands[2]), std::get<Relop>(i->operands[3]), true};
      value.erase(target());
    } else {
      for (const RegisterUse& r : register_uses(*i)) {
        if (r.scalar || !r.write) continue;
        value.erase(r.reg);
        if (r.reg == condition) result = {};
      }
    }
  }
  return result;
}

Executions narrowed(const ir::Program& program, const Executions& from, const Comparison& c, bool truth) {
  if (!c.on_ints) return half(from);
  Comparison::Side left = c.left, right = c.right;
  Relop op = truth ? c.op : negated(c.op);
  if (left.known && right.index != no_index) {
    std::swap(left, right);
    op = mirrored(op);
  }
  if (left.index == no_index || has(from.constrained, left.index)) return half(from);
  Executions r;
  if (right.known) {
    r = narrowed_number(program, from, left.index, op, right.number);
  } else {
    if (right.index == no_index || left.index == right.index || has(from.constrained, right.index)) return half(from);
    if (same_range(index_row(program, left.index), index_row(program, right.index)))
      r = narrowed_pair(from, right.index, op);
    else r = half(from);
    insert(r.constrained, right.index);
  }
  insert(r.constrained, left.index);
  return r;
}

/// Walks the main body and then the procedures, callers first, so that every procedure's own count is known when it is
/// walked.
struct Ranges::Builder {
  const ir::Program& p;
  Ranges& out;

  void body(const ir::Body& nodes, Executions at) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const ir::Node& n = nodes[k];
      out.nodes_[static_cast<std::size_t>(n.id)] = at;
      if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
        if (i->op == Opcode::call) {
          Executions& callee = out.procs_[static_cast<std::size_t>(std::get<ir::ProcId>(i->operands[0]).row)];
          callee = sum(callee, at);
        }
        continue;
      }
      if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
        loop(n, *l, at);
      } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
        std::size_t first = k;
        while (first > 0 && std::holds_alternative<ir::Instr>(nodes[first - 1].value)) --first;
        const Comparison c = comparison_of(nodes.data() + first, &n, b->condition);
        body(b->then_body, narrowed(p, at, c, true));
        body(b->else_body, narrowed(p, at, c, false));
      } else {
        body(std::get<ir::Section>(n.value).body, at);
      }
      // After a statement that may leave the body, what follows runs less often.
      if (leaves(n)) at = half(at);
    }
  }

  /// An exit of the loop around the node, or a return.
  static bool leaves(const ir::Node& n, bool exits_count = true) {
    const auto any = [&](const ir::Body& nodes, bool exits) {
      return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node& inner) { return leaves(inner, exits); });
    };
    if (const auto* i = std::get_if<ir::Instr>(&n.value))
      return i->op == Opcode::ret || (exits_count && i->op == Opcode::exit_loop);
    if (const auto* b = std::get_if<ir::If>(&n.value))
      return any(b->then_body, exits_count) || any(b->else_body, exits_count);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) return any(l->body, false);
    return false;
  }

  void loop(const ir::Node& n, const ir::Loop& l, const Executions& entered) {
    LoopRange range;
    range.space = Cost::constant(1.0);
    Executions at = entered;
    for (const IndexId i : l.indices) {
      range.space = range.space * (l.kind == LoopKind::sub ? Cost::constant(subsegments_per_segment) : Cost::count(i));
      std::erase(at.constrained, i);
    }
    at.most = at.most * range.space;
    if (l.kind == LoopKind::pardo && l.pragma != "SequentialPardoLoop") at.per_rank = false;
    range.may_exit = std::any_of(l.body.begin(), l.body.end(), [](const ir::Node& inner) { return leaves(inner); });
    if (range.may_exit) at = half(at);
    for (const ir::Where& w : l.wheres) {
      for (const ir::Node& c : w.code) out.nodes_[static_cast<std::size_t>(c.id)] = at;
      at = narrowed(p, at, comparison_of(w.code.data(), w.code.data() + w.code.size(), w.condition), true);
    }
    range.body = at;
    out.loop_of_[static_cast<std::size_t>(n.id)] = static_cast<std::int32_t>(out.loops_.size());
    out.loops_.push_back(std::move(range));
    body(l.body, at);
  }
};

Ranges::Ranges(const ir::Program& program)
    : nodes_(static_cast<std::size_t>(program.n_nodes)),
      loop_of_(static_cast<std::size_t>(program.n_nodes), -1),
      procs_(program.procs.size()) {
  Builder builder{program, *this};
  Executions once;
  once.most = Cost::constant(1.0);
  builder.body(program.main, once);
  for (std::size_t q = program.procs.size(); q-- > 0;) builder.body(program.procs[q].body, procs_[q]);
}

}  // namespace sial::analysis
