#include "compiler/analysis/lifetime.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/analysis/references.h"

namespace sial::analysis {
namespace {

const ir::Instr* instr_of(const ir::Node& n) { return std::get_if<ir::Instr>(&n.value); }

bool own_block(const ArrayUse& u) { return u.side == Side::own && u.block != nullptr && !has_wild(*u.block); }

bool by_name(const ir::Program& p, std::int32_t array) {
  const ArrayKind kind = p.arrays[static_cast<std::size_t>(array)].kind;
  return kind == ArrayKind::static_ || kind == ArrayKind::contiguous_local;
}

/// What both directions need of the program as a whole.
struct Context {
  const ir::Program& p;
  Summaries summaries;
  std::vector<UseFacts>* facts;                    // by node
  CallGraph calls;
  std::vector<References> refs;                    // by procedure, main last
  std::vector<char> kept;                          // by array: marked persistent somewhere

  Context(const ir::Program& program, std::vector<UseFacts>* facts_of)
      : p(program), summaries(program), facts(facts_of), calls(program), kept(program.arrays.size()) {
    refs.reserve(p.procs.size() + 1);
    for (std::size_t q = 0; q <= p.procs.size(); ++q) {
      const bool main = q == p.procs.size();
      std::vector<const References*> inner;
      for (const std::int32_t callee : calls.callees(main ? -1 : static_cast<std::int32_t>(q)))
        if (static_cast<std::size_t>(callee) < q) inner.push_back(&refs[static_cast<std::size_t>(callee)]);  // one that calls itself has its own
      refs.emplace_back(p, main ? p.main : p.procs[q].body, inner);
    }
    visit(p, [&](const ir::Node& n, const Path&) {
      const ir::Instr* i = instr_of(n);
      if (i == nullptr || !effects_of(p, *i).persistent) return;
      for (const ArrayUse& u : array_uses(p, *i)) kept[static_cast<std::size_t>(u.array)] = 1;
    });
  }

  std::size_t slot(std::int32_t proc) const { return proc < 0 ? p.procs.size() : static_cast<std::size_t>(proc); }

  UseFacts& fact(ir::NodeId node, std::size_t operand) {
    std::vector<UseFacts>& list = facts[node];
    for (UseFacts& f : list)
      if (f.operand == operand) return f;
    list.push_back({operand, false, false});
    return list.back();
  }
};

/// Liveness of one body. First expose() walks it with nothing live at the end of any iteration: what an iteration, or a call, may use
/// that it has not written itself. Then record() walks it once more, with that known at each loop and call, and gives the facts.
class Liveness {
 public:
  Liveness(Context& c, std::int32_t proc, const ir::Body& body, std::vector<Liveness>& all)
      : c_(c), body_(body), refs_(c.refs[c.slot(proc)]), all_(all), returned_(refs_.bits()), exposed_by_call_(refs_.bits()), after_calls_(refs_.bits()) {
    bound_.assign(c.p.indices.size(), 0);
    if (proc >= 0)
      for (const std::int32_t i : c.calls.bound_at_entry(proc)) bound_[static_cast<std::size_t>(i)] = 1;
  }

  void expose() {
    Bits state(refs_.bits());
    walk(body_, state);
    exposed_by_call_ = state;
  }

  /// Callers first: they have said what lives behind their calls.
  void record(bool main) {
    recording_ = true;
    Bits state = after_calls_;
    if (main)
      for (const std::int32_t array : refs_.arrays())
        if (c_.kept[static_cast<std::size_t>(array)]) all(state, array);
    returned_ = state;
    walk(body_, state);
  }

 private:
  void all(Bits& state, std::int32_t array) const {
    if (const std::int32_t w = refs_.whole(array); w >= 0) state.set(w);
  }
  void none(Bits& state, std::int32_t array) const {
    for (const std::int32_t r : refs_.of_array(array)) state.clear(r);
    if (const std::int32_t w = refs_.whole(array); w >= 0) state.clear(w);
  }

  void walk(const ir::Body& nodes, Bits& state) {
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) node(*n, state);
  }

  void node(const ir::Node& n, Bits& state) {
    if (const ir::Instr* i = instr_of(n)) return instr(n, *i, state);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) return loop(n, *l, state);
    if (const auto* b = std::get_if<ir::If>(&n.value)) {
      Bits other = state;
      walk(b->then_body, state);
      walk(b->else_body, other);
      state.unite(other);
      return;
    }
    drop_fetched(state);  // the end of a section is a barrier
    walk(std::get<ir::Section>(n.value).body, state);
  }

  void loop(const ir::Node& n, const ir::Loop& l, Bits& state) {
    for (const std::int32_t i : l.indices) ++bound_[static_cast<std::size_t>(i)];
    Bits left(refs_.bits()), end(refs_.bits());
    if (recording_) {
      left = refs_.across(state, l.indices, bound_, false);
      end = left;
      end.unite(refs_.across(exposed_.at(n.id), l.indices, bound_, true));
    }
    Bits iteration = end;
    exits_.push_back(left);
    walk(l.body, iteration);
    for (auto w = l.wheres.rbegin(); w != l.wheres.rend(); ++w) {
      iteration.unite(end);  // a false clause ends the iteration
      walk(w->code, iteration);
    }
    exits_.pop_back();
    for (const std::int32_t i : l.indices) --bound_[static_cast<std::size_t>(i)];
    state.unite(refs_.across(iteration, l.indices, bound_, false));  // or no iteration at all
    if (!recording_) exposed_.emplace(n.id, std::move(iteration));
  }

  void drop_fetched(Bits& state) const {
    for (const std::int32_t array : refs_.arrays())
      if (is_remote_array(c_.p, array)) none(state, array);
  }

  void call(std::int32_t proc, Bits& state) {
    Liveness& callee = all_[static_cast<std::size_t>(proc)];
    if (&callee == this) {  // calls itself: all its arrays may be used
      for (const std::int32_t array : refs_.arrays()) all(state, array);
      return;
    }
    if (recording_) refs_live(state, callee.refs_, callee.after_calls_);
    callee.refs_live(callee.exposed_by_call_, refs_, state);
    const Summary& s = c_.summaries.of_proc(proc);
    if (s.reads_by_name || s.writes_by_name) named(state);
  }

  /// Adds to `to`, a set over `others`, what `live`, a set over this body's references, means there.
  void refs_live(const Bits& live, const References& others, Bits& to) const {
    std::vector<std::int32_t> ids;
    live.for_each([&](std::int32_t r) { ids.push_back(r); });
    for (const std::int32_t r : ids) {
      const std::int32_t array = refs_.is_whole(r) ? refs_.arrays()[static_cast<std::size_t>(r) - refs_.size()] : refs_.block(r).array;
      if (refs_.is_whole(r)) {
        if (const std::int32_t w = others.whole(array); w >= 0) to.set(w);
        continue;
      }
      if (const std::int32_t same = others.find(refs_.key(r)); same >= 0) to.set(same);
      for (const std::int32_t q : others.of_array(array))
        if (alias(c_.p, others.block(q), refs_.block(r)) != Alias::never) to.set(q);
    }
  }

  bool nameable(const ir::Block& b) const {
    return std::all_of(b.entries.begin(), b.entries.end(), [&](const RefEntry& e) { return bound_[static_cast<std::size_t>(e.index)] > 0; });
  }

  void instr(const ir::Node& n, const ir::Instr& i, Bits& state) {
    switch (i.op) {
      case Opcode::stop: state = Bits(refs_.bits()); return;
      case Opcode::exit_loop: state = exits_.back(); return;
      case Opcode::ret: state = returned_; return;
      case Opcode::call: return call(std::get<ir::ProcId>(i.operands[0]).row, state);
      default: break;
    }
    const Effects e = effects_of(c_.p, i);
    if (e.barrier) drop_fetched(state);
    const std::vector<ArrayUse> uses = array_uses(c_.p, i);
    if (i.op == Opcode::erase_array) {
      for (const ArrayUse& u : uses) none(state, u.array);
      return;
    }
    if (recording_)
      for (const ArrayUse& u : uses)
        if (own_block(u)) c_.fact(n.id, u.operand).dead_after = !state.has(refs_.id(*u.block)) && !state.has(refs_.whole(u.array));
    if (i.op == Opcode::keep_block) return;  // about how long the block exists, not about what it holds
    const bool frees = i.op == Opcode::free_block;
    for (const ArrayUse& u : uses)
      if (own_block(u) && (frees || replaces(c_.p, i, u)))
        for (const std::int32_t r : refs_.inside(refs_.id(*u.block))) state.clear(r);
    if (e.reads_by_name || e.writes_by_name) named(state);
    if (e.lists_blocks)
      for (const std::int32_t array : refs_.arrays()) all(state, array);
    for (const ArrayUse& u : uses) {
      if (u.side != Side::own) continue;
      const bool needs = u.reads() || i.op == Opcode::deallocate || i.op == Opcode::deallocate_region;
      if (own_block(u)) {
        // What a block keeps when a part of it is written is needed like what is read. Names that nothing has here are derived from
        // this one where their loops begin.
        if (!needs && (frees || replaces(c_.p, i, u))) continue;
        const std::int32_t self = refs_.id(*u.block);
        for (const std::int32_t r : refs_.aliases(self))
          if (r == self || nameable(refs_.block(r))) state.set(r);
      } else if (needs) {
        all(state, u.array);
      }
    }
  }

  void named(Bits& state) const {
    for (const std::int32_t array : refs_.arrays())
      if (by_name(c_.p, array)) all(state, array);
  }

  Context& c_;
  const ir::Body& body_;
  const References& refs_;
  std::vector<Liveness>& all_;
  bool recording_ = false;
  Bits returned_, exposed_by_call_, after_calls_;
  std::vector<int> bound_;               // by index row: loops over it that are open here
  std::vector<Bits> exits_;
  std::map<ir::NodeId, Bits> exposed_;   // by loop
};

/// Definite initialisation of one body; `entry` and the result of run() name blocks that certainly exist, by key, so that they mean the
/// same in every body.
class Initialisation {
 public:
  using Keys = std::set<RefKey>;
  using OfProcs = std::vector<Keys>;
  Initialisation(Context& c, std::int32_t proc, const OfProcs& exits, OfProcs* entries, std::vector<char>* called)
      : c_(c), body_(proc < 0 ? c.p.main : c.p.procs[static_cast<std::size_t>(proc)].body), refs_(c.refs[c.slot(proc)]), exits_(exits), entries_(entries), called_(called) {}

  Keys run(const Keys& entry) {
    State state{Bits(refs_.bits()), true};
    for (const RefKey& key : entry)
      if (const std::int32_t r = refs_.find(key); r >= 0) state.set.set(r);
    walk(body_, state);
    meet(returned_, state);
    Keys keys;
    if (returned_.reachable) returned_.set.for_each([&](std::int32_t r) { keys.insert(refs_.key(r)); });
    return keys;
  }

 private:
  struct State { Bits set; bool reachable = false; };

  static void meet(State& into, const State& other) {
    if (!other.reachable) return;
    if (into.reachable) into.set.intersect(other.set);
    else into = other;
  }

  void none(State& s, std::int32_t array) const {
    for (const std::int32_t r : refs_.of_array(array)) s.set.clear(r);
  }
  void drop_fetched(State& s) const {
    for (const std::int32_t array : refs_.arrays())
      if (is_remote_array(c_.p, array)) none(s, array);
  }

  void without(State& s, const Summary& summary) const {
    for (const ArrayTouch& t : summary.arrays)
      if (t.own.freed) none(s, t.array);
    if (summary.barrier) drop_fetched(s);
  }

  void walk(const ir::Body& nodes, State& state) {
    for (const ir::Node& n : nodes) node(n, state);
  }

  void node(const ir::Node& n, State& state) {
    if (const ir::Instr* i = instr_of(n)) return instr(n, *i, state);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
      // What an iteration makes is gone or named differently behind it; what was there stays, unless some iteration frees it.
      without(state, c_.summaries.of_node(n));
      State iteration = state;
      iteration.set.remove(refs_.with(l->indices));
      for (const ir::Where& w : l->wheres) walk(w.code, iteration);
      walk(l->body, iteration);
      state.set.remove(refs_.with(l->indices));
      return;
    }
    if (const auto* b = std::get_if<ir::If>(&n.value)) {
      State other = state;
      walk(b->then_body, state);
      walk(b->else_body, other);
      if (state.reachable) meet(state, other);
      else state = other;
      return;
    }
    walk(std::get<ir::Section>(n.value).body, state);
    drop_fetched(state);
  }

  void instr(const ir::Node& n, const ir::Instr& i, State& state) {
    if (i.op == Opcode::ret || i.op == Opcode::exit_loop || i.op == Opcode::stop) {
      if (i.op == Opcode::ret) meet(returned_, state);
      state.reachable = false;
      return;
    }
    if (i.op == Opcode::call) return call(std::get<ir::ProcId>(i.operands[0]).row, state);
    const std::vector<ArrayUse> uses = array_uses(c_.p, i);
    if (entries_ != nullptr)
      for (const ArrayUse& u : uses)
        if (own_block(u))
          c_.fact(n.id, u.operand).initialised =
              state.set.has(refs_.id(*u.block)) || c_.p.arrays[static_cast<std::size_t>(u.array)].kind == ArrayKind::static_;
    for (const ArrayUse& u : uses) {
      if (u.side != Side::own || (u.block == nullptr && i.op != Opcode::erase_array)) continue;
      if (i.op == Opcode::deallocate || i.op == Opcode::erase_array || i.op == Opcode::free_block) {
        none(state, u.array);
      } else if (has_wild(*u.block)) {
        for (const std::int32_t r : refs_.of_array(u.array))
          if (covers(*u.block, refs_.block(r))) state.set.set(r);
      } else {
        state.set.set(refs_.id(*u.block));  // whatever was done to it, it exists now, or the job has ended
      }
    }
    if (effects_of(c_.p, i).barrier) drop_fetched(state);
  }

  /// Allocation of a set of blocks: all that agree where the set names an index.
  static bool covers(const ir::Block& set, const ir::Block& one) {
    for (std::size_t d = 0; d < set.entries.size(); ++d)
      if (set.entries[d].index >= 0 && !(set.entries[d] == one.entries[d])) return false;
    return true;
  }

  void call(std::int32_t proc, State& state) {
    if (entries_ != nullptr && state.reachable) {
      Keys here;
      state.set.for_each([&](std::int32_t r) { here.insert(refs_.key(r)); });
      Keys& entry = (*entries_)[static_cast<std::size_t>(proc)];
      if ((*called_)[static_cast<std::size_t>(proc)] == 0) {
        entry = std::move(here);
      } else {
        std::erase_if(entry, [&](const RefKey& k) { return !here.contains(k); });
      }
      (*called_)[static_cast<std::size_t>(proc)] = 1;
    }
    without(state, c_.summaries.of_proc(proc));
    if (static_cast<std::size_t>(proc) >= exits_.size()) return;  // calls itself
    for (const RefKey& key : exits_[static_cast<std::size_t>(proc)])
      if (const std::int32_t r = refs_.find(key); r >= 0) state.set.set(r);
  }

  Context& c_;
  const ir::Body& body_;
  const References& refs_;
  const OfProcs& exits_;
  OfProcs* entries_;             // given in the pass that records
  std::vector<char>* called_;
  State returned_;
};

}  // namespace

Lifetimes::Lifetimes(const ir::Program& program) : facts_(static_cast<std::size_t>(program.n_nodes)) {
  Context context(program, facts_.data());
  std::vector<Liveness> liveness;
  liveness.reserve(program.procs.size() + 1);
  for (std::size_t q = 0; q < program.procs.size(); ++q) liveness.emplace_back(context, static_cast<std::int32_t>(q), program.procs[q].body, liveness);
  liveness.emplace_back(context, -1, program.main, liveness);
  for (Liveness& l : liveness) l.expose();
  for (std::size_t q = liveness.size(); q-- > 0;) liveness[q].record(q == program.procs.size());

  // What procedures make, callees first; then what callers have made, callers first.
  Initialisation::OfProcs exits, entries(program.procs.size());
  std::vector<char> called(program.procs.size());
  for (std::size_t q = 0; q < program.procs.size(); ++q)
    exits.push_back(Initialisation(context, static_cast<std::int32_t>(q), exits, nullptr, nullptr).run({}));
  Initialisation(context, -1, exits, &entries, &called).run({});
  for (std::size_t q = program.procs.size(); q-- > 0;)
    Initialisation(context, static_cast<std::int32_t>(q), exits, &entries, &called).run(entries[q]);
}

const UseFacts* Lifetimes::find(ir::NodeId node, std::size_t operand) const {
  for (const UseFacts& f : facts_[static_cast<std::size_t>(node)])
    if (f.operand == operand) return &f;
  return nullptr;
}

}  // namespace sial::analysis
