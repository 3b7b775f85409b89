#include "compiler/analysis/calls.h"

#include <algorithm>

namespace sial::analysis {
namespace {

template <class Value>
void sort_unique(std::vector<Value>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

bool holds(const std::vector<std::int32_t>& sorted, std::int32_t x) {
  return std::binary_search(sorted.begin(), sorted.end(), x);
}

}  // namespace

bool CallSite::in_pardo() const {
  return std::any_of(enclosing.begin(), enclosing.end(), [](const ir::Node* n) {
    const auto* l = std::get_if<ir::Loop>(&n->value);
    return l != nullptr && l->kind == LoopKind::pardo;
  });
}

CallGraph::CallGraph(const ir::Program& program)
    : callers_(program.procs.size()),
      callees_(program.procs.size() + 1),
      in_pardo_(program.procs.size()),
      bound_(program.procs.size()) {
  visit(program, [&](const ir::Node& n, const Path& path) {
    const auto* i = std::get_if<ir::Instr>(&n.value);
    if (i == nullptr || i->op != Opcode::call) return;
    const std::int32_t callee = std::get<ir::ProcId>(i->operands[0]).row;
    callers_[static_cast<std::size_t>(callee)].push_back({n.id, path.proc, path.enclosing});
    callees_[static_cast<std::size_t>(path.proc) + 1].push_back(callee);
  });
  for (std::vector<std::int32_t>& list : callees_) sort_unique(list);
  // Callers come after callees in the table, so going backwards every caller is done before what it calls.
  for (std::size_t p = program.procs.size(); p-- > 0;) {
    bool first = true;
    for (const CallSite& site : callers_[p]) {
      in_pardo_[p] =
          in_pardo_[p] || site.in_pardo() || (site.caller >= 0 && in_pardo_[static_cast<std::size_t>(site.caller)]);
      if (site.caller == static_cast<std::int32_t>(p))
        continue;  // a procedure that calls itself was entered from elsewhere first
      std::vector<IndexId> bound;
      if (site.caller >= 0) bound = bound_[static_cast<std::size_t>(site.caller)];
      for (const ir::Node* n : site.enclosing)
        if (const auto* l = std::get_if<ir::Loop>(&n->value))
          bound.insert(bound.end(), l->indices.begin(), l->indices.end());
      sort_unique(bound);
      if (first) {
        bound_[p] = std::move(bound);
      } else {
        std::vector<IndexId> both;
        std::set_intersection(bound.begin(), bound.end(), bound_[p].begin(), bound_[p].end(), std::back_inserter(both));
        bound_[p] = std::move(both);
      }
      first = false;
    }
  }
}

const ArrayTouch* Summary::find(ArrayId array) const {
  const auto at =
      std::lower_bound(arrays.begin(), arrays.end(), array, [](const ArrayTouch& t, ArrayId a) { return t.array < a; });
  return at != arrays.end() && at->array == array ? &*at : nullptr;
}

bool Summary::writes_int(std::int32_t reg) const { return holds(ints_written, reg); }
bool Summary::writes_scalar(std::int32_t reg) const { return holds(scalars_written, reg); }

namespace {
bool by_name(const ir::Program& program, ArrayId array) {
  const ArrayKind kind = program.arrays[array.at()].kind;
  return kind == ArrayKind::static_ || kind == ArrayKind::contiguous_local;
}
}  // namespace

bool Summary::may_read(const ir::Program& program, ArrayId array) const {
  const ArrayTouch* t = find(array);
  return (t != nullptr && (t->own.read || t->own.accumulated)) ||
         ((reads_by_name || writes_by_name) && by_name(program, array));
}

bool Summary::may_write(const ir::Program& program, ArrayId array) const {
  const ArrayTouch* t = find(array);
  return (t != nullptr && t->own.written()) || (writes_by_name && by_name(program, array));
}

bool Summary::may_put(ArrayId array) const {
  const ArrayTouch* t = find(array);
  return t != nullptr && t->home.written();
}

/// Collects unsorted, sorts once at the end: a program of n nodes costs O(n log n) per level of nesting asked for.
struct Summaries::Builder {
  Summaries& owner;
  Summary s;
  int loops = 0;  // open loops of the stretch

  void use(ArrayId array, Side side, const Touch& t) {
    ArrayTouch& at = s.arrays.emplace_back();
    at.array = array;
    (side == Side::own ? at.own : at.home) = t;
  }

  void merge(const Summary& o) {
    s.arrays.insert(s.arrays.end(), o.arrays.begin(), o.arrays.end());
    for (auto list : {&Summary::ints_written, &Summary::scalars_written, &Summary::ints_read, &Summary::scalars_read})
      (s.*list).insert((s.*list).end(), (o.*list).begin(), (o.*list).end());
    s.barrier |= o.barrier;
    s.collective |= o.collective;
    s.output |= o.output;
    s.ends_job |= o.ends_job;
    s.reads_by_name |= o.reads_by_name;
    s.writes_by_name |= o.writes_by_name;
    s.pardo |= o.pardo;
    s.instructions += o.instructions;
  }

  void instr(const ir::Instr& i) {
    ++s.instructions;
    if (i.op == Opcode::call) {
      merge(owner.of_proc(std::get<ir::ProcId>(i.operands[0]).row));  // its returns and exits stay inside it
      return;
    }
    if (i.op == Opcode::ret || (i.op == Opcode::exit_loop && loops == 0)) s.leaves = true;
    const Effects e = effects_of(owner.p_, i);
    s.barrier |= e.barrier;
    s.collective |= e.collective;
    s.output |= e.output;
    s.ends_job |= e.ends_job;
    s.reads_by_name |= e.reads_by_name;
    s.writes_by_name |= e.writes_by_name;
    for (const ArrayUse& u : array_uses(owner.p_, i)) {
      Touch t;
      t.read = u.intent == Intent::read;
      t.freed = has(i.op, op::frees);
      t.replaced = u.intent == Intent::write && !t.freed;
      t.fetched = op_class(i.op) == OpClass::fetch && u.side == Side::own;
      t.accumulated = u.intent == Intent::update && !t.fetched;
      use(u.array, u.side, t);
    }
    for (const RegisterUse& r : register_uses(i)) {
      const std::size_t declared = r.scalar ? owner.p_.scalars.size() : owner.p_.ints.size();
      if (static_cast<std::size_t>(r.reg) >= declared) continue;
      if (r.read) (r.scalar ? s.scalars_read : s.ints_read).push_back(r.reg);
      if (r.write) (r.scalar ? s.scalars_written : s.ints_written).push_back(r.reg);
    }
  }

  void body(const ir::Body& nodes) {
    for (const ir::Node& n : nodes) node(n);
  }

  void node(const ir::Node& n) {
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) return instr(*i);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      s.pardo |= l->kind == LoopKind::pardo;
      for (const ir::Where& w : l->wheres) body(w.code);
      ++loops;
      body(l->body);
      --loops;
    } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
      body(b->then_body);
      body(b->else_body);
      if (static_cast<std::size_t>(b->condition) < owner.p_.ints.size()) s.ints_read.push_back(b->condition);
    } else {
      body(std::get<ir::Section>(n.value).body);
      s.barrier = s.collective = true;
    }
  }

  Summary take() {
    std::sort(s.arrays.begin(), s.arrays.end(),
              [](const ArrayTouch& a, const ArrayTouch& b) { return a.array < b.array; });
    std::vector<ArrayTouch> merged;
    for (const ArrayTouch& t : s.arrays) {
      if (merged.empty() || merged.back().array != t.array) {
        merged.push_back(t);
      } else {
        merged.back().own.merge(t.own);
        merged.back().home.merge(t.home);
      }
    }
    s.arrays = std::move(merged);
    for (auto list : {&Summary::ints_written, &Summary::scalars_written, &Summary::ints_read, &Summary::scalars_read})
      sort_unique(s.*list);
    return std::move(s);
  }
};

const Summary& Summaries::of_proc(std::int32_t proc) {
  std::optional<Summary>& slot = procs_[static_cast<std::size_t>(proc)];
  if (!slot) {
    slot.emplace();  // a procedure that calls itself adds nothing to what its body does
    slot = of_body(p_.procs[static_cast<std::size_t>(proc)].body);
    slot->leaves = false;
  }
  return *slot;
}

const Summary& Summaries::of_node(const ir::Node& node) {
  const auto known = nodes_.find(node.id);
  if (known != nodes_.end()) return known->second;
  Builder b{*this, {}, 0};
  b.node(node);
  return nodes_.emplace(node.id, b.take()).first->second;
}

Summary Summaries::of_body(const ir::Body& body) { return of_range(body, 0, body.size()); }

Summary Summaries::of_range(const ir::Body& body, std::size_t begin, std::size_t end) {
  Builder b{*this, {}, 0};
  for (std::size_t k = begin; k < end; ++k) b.node(body[k]);
  return b.take();
}

Summary Summaries::of_instr(const ir::Instr& instr) {
  Builder b{*this, {}, 0};
  b.instr(instr);
  return b.take();
}

}  // namespace sial::analysis
