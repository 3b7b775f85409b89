// Definite initialisation: forwards, callees first for what procedures make, then callers first for what they find
// made. The result of a loop is what was there before, less what some iteration frees: what an iteration makes is gone,
// or named differently, after it.
#include "compiler/analysis/lifetime_context.h"
#include "compiler/analysis/name_sets.h"

namespace sial::analysis {
namespace {

/// Blocks of one procedure, by its own numbers: those made whenever it returns, and those made whenever it is called.
struct Ends {
  std::vector<std::int32_t> exit, entry;
  bool called = false;
};

class Initialisation {
 public:
  Initialisation(LifetimeContext& c, std::int32_t proc, std::vector<Ends>& ends, bool record)
      : c_(c),
        p_(c.program()),
        proc_(proc),
        refs_(c.references(proc)),
        ends_(ends),
        record_(record),
        made_(properties(c, refs_), n_properties(c)) {}

  std::vector<std::int32_t> run(const std::vector<std::int32_t>& entry) {
    for (const std::int32_t r : entry) made_.set(r);
    walk(c_.body(proc_));
    returns();
    c_.steps += made_.steps() + refs_.size();
    return std::move(returned_);
  }

 private:
  // Properties of names: each index row, whose loop ends them; the array by its row; being a block of a remote array.
  static std::size_t n_properties(const LifetimeContext& c) {
    return c.program().indices.size() + c.program().arrays.size() + 1;
  }
  static std::vector<std::vector<std::int32_t>> properties(const LifetimeContext& c, const References& refs) {
    const auto n_indices = static_cast<std::int32_t>(c.program().indices.size()),
               n_arrays = static_cast<std::int32_t>(c.program().arrays.size());
    std::vector<std::vector<std::int32_t>> result(refs.size());
    for (std::size_t k = 0; k < refs.size(); ++k) {
      const ir::Block& b = refs.block(static_cast<std::int32_t>(k));
      for (const RefEntry& e : b.entries) {
        result[k].push_back(e.index.number());
        if (const IndexId parent = c.program().indices[e.index.at()].parent; parent != no_index)
          result[k].push_back(parent.number());
      }
      result[k].push_back(n_indices + b.array.number());
      if (c.remote(b.array)) result[k].push_back(n_indices + n_arrays);
    }
    return result;
  }

  void none(ArrayId array) { made_.drop(static_cast<std::int32_t>(p_.indices.size()) + array.number()); }
  void drop_fetched() { made_.drop(static_cast<std::int32_t>(p_.indices.size() + p_.arrays.size())); }
  void without(const Summary& summary) {
    for (const ArrayTouch& t : summary.arrays)
      if (t.own.freed) none(t.array);
    if (summary.barrier) drop_fetched();
    c_.steps += summary.arrays.size();
  }

  /// The end of the body or a return: what is made on every way out.
  void returns() {
    if (!reachable_) return;
    if (!any_return_) {
      for (std::size_t k = 0; k < refs_.size(); ++k)
        if (made_.has(static_cast<std::int32_t>(k))) returned_.push_back(static_cast<std::int32_t>(k));
    } else {
      c_.steps += returned_.size();
      std::erase_if(returned_, [&](std::int32_t k) { return !made_.has(k); });
    }
    any_return_ = true;
  }

  void walk(const ir::Body& nodes) {
    for (const ir::Node& n : nodes) node(n);
  }

  void node(const ir::Node& n) {
    if (const ir::Instr* i = instr_of(n)) return instr(n, *i);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      without(c_.summaries().of_node(n));
      for (const IndexId i : l->indices) made_.drop(i.number());
      const std::size_t before = made_.mark();
      const bool reachable = reachable_;
      for (const ir::Where& w : l->wheres) walk(w.code);
      walk(l->body);
      made_.undo(before);
      reachable_ = reachable;
      return;
    }
    if (const auto* b = std::get_if<ir::If>(&n.value)) {
      const std::size_t before = made_.mark();
      const bool reachable = reachable_;
      walk(b->then_body);
      const MadeNames::Branch then_made = made_.take(before);
      const bool then_reachable = reachable_;
      reachable_ = reachable;
      walk(b->else_body);
      if (!then_reachable) return;  // only this way leads on
      const MadeNames::Branch else_made = made_.take(before);
      if (reachable_) made_.meet(then_made, else_made);
      else made_.again(then_made);
      reachable_ = true;
      return;
    }
    walk(std::get<ir::Section>(n.value).body);
    drop_fetched();
  }

  void instr(const ir::Node& n, const ir::Instr& i) {
    if (i.op == Opcode::ret || i.op == Opcode::exit_loop || i.op == Opcode::stop) {
      if (i.op == Opcode::ret) returns();
      reachable_ = false;
      return;
    }
    if (i.op == Opcode::call) return call(std::get<ir::ProcId>(i.operands[0]).row);
    const auto uses = c_.uses(n);
    if (record_)
      for (const LifetimeContext::Use& u : uses)
        if (u.ref >= 0)
          c_.fact(n.id, u.operand).initialised = made_.has(u.ref) || p_.arrays[u.array.at()].kind == ArrayKind::static_;
    // What drops this rank's copies of an array's blocks; of an array of its own, restoring makes what is there
    // already.
    const bool drops = i.op == Opcode::erase_array ||
                       (i.op == Opcode::restore_persistent && !uses.empty() && c_.remote(uses.front().array));
    for (const LifetimeContext::Use& u : uses) {
      if (u.side != Side::own || (u.block == nullptr && !drops)) continue;
      if (drops || has(i.op, op::frees)) {
        none(u.array);
      } else if (u.ref >= 0) {
        made_.set(u.ref);  // whatever was done to it, it exists now, or the job has ended
      } else if (const std::int32_t slot = refs_.slot(u.array); slot >= 0) {
        for (const std::int32_t r : refs_.names(slot))
          if (covers(*u.block, refs_.block(r))) made_.set(r);
        c_.steps += refs_.names(slot).size();
      }
    }
    if (effects_of(p_, i).barrier) drop_fetched();
  }

  /// Allocation of a set of blocks: all that agree where the set names an index.
  static bool covers(const ir::Block& set, const ir::Block& one) {
    for (std::size_t d = 0; d < set.entries.size(); ++d)
      if (set.entries[d].index != no_index && !(set.entries[d] == one.entries[d])) return false;
    return true;
  }

  void call(std::int32_t proc) {
    Ends& callee = ends_[static_cast<std::size_t>(proc)];
    const std::vector<std::int32_t>& mine = c_.names_of(proc, proc_);
    const auto made = [&](std::int32_t theirs) {
      return mine[static_cast<std::size_t>(theirs)] >= 0 && made_.has(mine[static_cast<std::size_t>(theirs)]);
    };
    if (record_ && reachable_) {
      if (!callee.called) {
        callee.entry.clear();
        for (std::size_t k = 0; k < mine.size(); ++k)
          if (made(static_cast<std::int32_t>(k))) callee.entry.push_back(static_cast<std::int32_t>(k));
        c_.steps += mine.size();
      } else {
        c_.steps += callee.entry.size();
        std::erase_if(callee.entry, [&](std::int32_t k) { return !made(k); });
      }
      callee.called = true;
    }
    without(c_.summaries().of_proc(proc));
    for (const std::int32_t k : callee.exit) made_.set(mine[static_cast<std::size_t>(k)]);
    c_.steps += callee.exit.size();
  }

  LifetimeContext& c_;
  const ir::Program& p_;
  std::int32_t proc_;
  const References& refs_;
  std::vector<Ends>& ends_;
  bool record_;
  MadeNames made_;
  bool reachable_ = true, any_return_ = false;
  std::vector<std::int32_t> returned_;
};

}  // namespace

void find_initialised(LifetimeContext& context) {
  const auto n_procs = static_cast<std::int32_t>(context.program().procs.size());
  std::vector<Ends> ends(static_cast<std::size_t>(n_procs));
  for (std::int32_t q = 0; q < n_procs; ++q) {
    std::vector<std::int32_t> exit = Initialisation(context, q, ends, false).run({});
    ends[static_cast<std::size_t>(q)].exit = std::move(exit);
  }
  Initialisation(context, -1, ends, true).run({});
  for (std::int32_t q = n_procs; q-- > 0;) {
    const std::vector<std::int32_t> entry = ends[static_cast<std::size_t>(q)].entry;
    Initialisation(context, q, ends, true).run(entry);
  }
}

}  // namespace sial::analysis
