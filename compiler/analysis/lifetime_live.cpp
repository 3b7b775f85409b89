// Liveness: backwards. What an iteration of each loop, and each procedure, may use that it has not written itself is
// found first, with nothing live at its end (expose). Then every body is walked once more with that known at each loop
// and call, callers first, since they have said what lives after their calls (record).
//
// A name of which an index is not bound stands for any value of it: it comes unchanged through loops, and where a loop
// binds an index, names used inside are derived from those that may be the same block. Names that a loop does not use
// pass it by.
#include <algorithm>

#include "compiler/analysis/lifetime_context.h"
#include "compiler/analysis/name_sets.h"

namespace sial::analysis {
namespace {

class Liveness {
 public:
  Liveness(LifetimeContext& c, std::int32_t proc, std::vector<Liveness>& all)
      : c_(c),
        p_(c.program()),
        proc_(proc),
        refs_(c.references(proc)),
        all_(all),
        live_(live_names(c, refs_)),
        bound_(p_.indices.size()),
        after_calls_(refs_.numbers()) {
    if (proc >= 0)
      for (const IndexId i : c.calls().bound_at_entry(proc)) bind(i);
    for (const ArrayId array : refs_.arrays())
      if (c.by_name(array)) by_name_.push_back(refs_.whole(array));
  }

  void expose() {
    expose_loops(c_.body(proc_));
    walk(c_.body(proc_));
    exposed_by_call_ = members();
    live_.undo(0);
  }

  void record() {
    recording_ = true;
    for (std::size_t k = 0; k < after_calls_.size(); ++k)
      if (after_calls_[k] != 0) live_.set(static_cast<std::int32_t>(k));
    if (proc_ < 0)
      for (const ArrayId array : refs_.arrays())
        if (c_.saved(array)) all(array);
    if (const auto& callees = c_.calls().callees(proc_);
        proc_ >= 0 && std::find(callees.begin(), callees.end(), proc_) != callees.end())
      for (const ArrayId array : refs_.arrays()) all(array);  // whatever the activation around does after its call
    end_ = live_.mark();
    walk(c_.body(proc_));
    c_.steps += live_.steps() + refs_.numbers();
  }

 private:
  using Names = std::vector<std::int32_t>;

  static LiveNames live_names(const LifetimeContext& c, const References& refs) {
    std::vector<std::int32_t> slots;
    std::vector<char> remote;
    for (std::size_t k = 0; k < refs.numbers(); ++k) {
      slots.push_back(refs.slot_of(static_cast<std::int32_t>(k)));
      remote.push_back(c.remote(refs.arrays()[static_cast<std::size_t>(slots.back())]) ? 1 : 0);
    }
    return {std::move(slots), std::move(remote), refs.arrays().size()};
  }

  void bind(IndexId i) {
    if (++bound_[i.at()] == 1) bound_rows_.push_back(i);
  }
  void unbind(IndexId i) {
    if (--bound_[i.at()] == 0) bound_rows_.erase(std::find(bound_rows_.begin(), bound_rows_.end(), i));
  }

  Names members() const {
    Names list = live_.others();
    list.insert(list.end(), live_.remote().begin(), live_.remote().end());
    c_.steps += list.size();
    return list;
  }

  void all(ArrayId array) {
    if (const std::int32_t w = refs_.whole(array); w >= 0) live_.set(w);
  }
  void none(ArrayId array) {
    const std::int32_t slot = refs_.slot(array);
    if (slot < 0 || live_.count(slot) == 0) return;
    for (const std::int32_t r : refs_.names(slot)) live_.clear(r);
    live_.clear(refs_.whole(array));
    c_.steps += refs_.names(slot).size();
  }

  /// Inner loops first, so that a loop's own walk finds what they expose.
  void expose_loops(const ir::Body& nodes) {
    for (const ir::Node& n : nodes) {
      if (const auto* l = std::get_if<ir::Loop>(&n.value)) {
        for (const IndexId i : l->indices) bind(i);
        expose_loops(l->body);
        walk(l->body);
        for (auto w = l->wheres.rbegin(); w != l->wheres.rend(); ++w) walk(w->code);
        exposed_.emplace(n.id, members());
        live_.undo(0);
        for (const IndexId i : l->indices) unbind(i);
      } else if (const auto* b = std::get_if<ir::If>(&n.value)) {
        expose_loops(b->then_body);
        expose_loops(b->else_body);
      } else if (const auto* s = std::get_if<ir::Section>(&n.value)) {
        expose_loops(s->body);
      }
    }
  }

  void walk(const ir::Body& nodes) {
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) node(*n);
  }

  void node(const ir::Node& n) {
    if (const ir::Instr* i = instr_of(n)) return instr(n, *i);
    if (const auto* l = std::get_if<ir::Loop>(&n.value))
      return recording_ ? loop(n, *l) : leave(exposed_.at(n.id), l->indices);
    if (const auto* b = std::get_if<ir::If>(&n.value)) return branch(*b);
    live_.clear_remote();  // the end of a section is a barrier
    walk(std::get<ir::Section>(n.value).body);
  }

  void branch(const ir::If& b) {
    const std::size_t after = live_.mark();
    walk(b.then_body);
    Names first = live_.changed(after);
    live_.undo(after);
    walk(b.else_body);
    Names second = live_.changed(after);
    live_.undo(after);
    // Live on one way or the other: what was live after both is gone only when both have ended it.
    std::sort(first.begin(), first.end());
    Names ended, begun;
    for (const std::int32_t k : second) {
      if (!live_.has(k)) begun.push_back(k);
      else if (std::binary_search(first.begin(), first.end(), k)) ended.push_back(k);
    }
    for (const std::int32_t k : first)
      if (!live_.has(k)) begun.push_back(k);
    for (const std::int32_t k : ended) live_.clear(k);
    for (const std::int32_t k : begun) live_.set(k);
  }

  void loop(const ir::Node& n, const ir::Loop& l) {
    const Names& inside = c_.inside(n, proc_);
    for (const IndexId i : l.indices) bind(i);
    const std::size_t after = live_.mark();
    enter(inside, l.indices);
    const std::size_t left = live_.mark();
    repeat(exposed_.at(n.id), inside, l.indices);
    const std::size_t end = live_.mark();
    exits_.push_back(left);
    walk(l.body);
    for (auto w = l.wheres.rbegin(); w != l.wheres.rend(); ++w) {
      // A false clause ends the iteration. Only the end has what is in the list and now not live any more.
      Names missing;
      for (const std::int32_t k : live_.changed(end))
        if (!live_.has(k)) missing.push_back(k);
      for (const std::int32_t k : missing) live_.set(k);
      walk(w->code);
    }
    exits_.pop_back();
    for (const IndexId i : l.indices) unbind(i);
    Names begin;
    for (const Names& list : {live_.changed(after), inside})
      for (const std::int32_t k : list)
        if (live_.has(k)) begin.push_back(k);
    live_.undo(after);
    leave(begin, l.indices);  // besides what is live after it: there may be no iteration at all
  }

  template <class List>
  static List sorted(List list) {
    std::sort(list.begin(), list.end());
    return list;
  }

  /// Calls f(slot, names) for the names in `of`, one array after the other.
  template <class F>
  void by_array(const Names& of, const F& f) {
    std::vector<std::pair<std::int32_t, std::int32_t>> list;
    for (const std::int32_t k : of)
      if (!refs_.is_whole(k)) list.emplace_back(refs_.slot_of(k), k);
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    c_.steps += list.size();
    for (std::size_t k = 0; k < list.size();) {
      const std::int32_t slot = list[k].first;
      Names names;
      for (; k < list.size() && list[k].first == slot; ++k) names.push_back(list[k].second);
      f(slot, names);
    }
  }

  /// Names inside a loop that may, in its last iteration, be what lives after it.
  void enter(const Names& inside, const std::vector<IndexId>& indices) {
    const std::vector<IndexId> changed = sorted(indices);
    Names found;
    by_array(inside, [&](std::int32_t slot, const Names& names) {
      if (live_.count(slot) == 0) return;
      Names live;
      for (const std::int32_t r : refs_.names(slot))
        if (!refs_.many(slot) && live_.has(r)) live.push_back(r);
      const bool any =
          refs_.many(slot) &&
          live_.count(slot) > (live_.has(refs_.whole(refs_.arrays()[static_cast<std::size_t>(slot)])) ? 1u : 0u);
      if (!refs_.many(slot)) c_.steps += refs_.names(slot).size() + names.size() * live.size();
      for (const std::int32_t q : names) {
        if (live_.has(q) || !refs_.nameable(q, bound_)) continue;
        const bool q_moved = refs_.moved(q, indices);
        if (any || std::any_of(live.begin(), live.end(), [&](std::int32_t r) {
              return (q_moved || refs_.moved(r, indices)) && refs_.meet(q, r, changed);
            }))
          found.push_back(q);
      }
    });
    for (const std::int32_t q : found) live_.set(q);
  }

  /// Names inside a loop that may be what a later iteration of it uses (`exposed`).
  void repeat(const Names& exposed, const Names& inside, const std::vector<IndexId>& indices) {
    const std::vector<IndexId> changed = sorted(indices);
    const auto differ = [&](std::int32_t a, std::int32_t b) {
      return indices.size() == 1 && refs_.differ(a, b, indices[0]);
    };
    Names found;
    for (const std::int32_t r : exposed)
      if (refs_.is_whole(r) || refs_.many(refs_.slot_of(r)) || !refs_.moved(r, indices)) found.push_back(r);
    std::vector<Names> by_slot;  // what each array exposes, in the order of its first name
    std::unordered_map<std::int32_t, std::size_t> at;
    by_array(exposed, [&](std::int32_t slot, const Names& names) {
      at[slot] = by_slot.size();
      by_slot.push_back(names);
    });
    Names targets = inside;
    targets.insert(targets.end(), exposed.begin(), exposed.end());
    by_array(targets, [&](std::int32_t slot, const Names& names) {
      const auto from = at.find(slot);
      if (from == at.end()) return;
      const Names& live = by_slot[from->second];
      if (!refs_.many(slot)) c_.steps += names.size() * live.size();
      for (const std::int32_t q : names) {
        const bool nameable = refs_.nameable(q, bound_), q_moved = refs_.moved(q, indices);
        if (refs_.many(slot)) {
          if (nameable) found.push_back(q);
          continue;
        }
        for (const std::int32_t r : live) {
          if ((q != r && !nameable) || (!q_moved && !refs_.moved(r, indices)) || differ(q, r) ||
              !refs_.meet(q, r, changed))
            continue;
          found.push_back(q);
          break;
        }
      }
    });
    for (const std::int32_t q : found) live_.set(q);
  }

  /// Names that are live at the begin of an iteration, seen from before the loop, where indices have other values.
  void leave(const Names& begin, const std::vector<IndexId>& indices) {
    for (const std::int32_t r : begin) live_.set(r);
    const std::vector<IndexId> changed = sorted(indices);
    by_array(begin, [&](std::int32_t slot, const Names& live) {
      if (refs_.many(slot)) return set_nameable(slot);
      c_.steps += live.size() * refs_.names(slot).size();
      for (const std::int32_t q : refs_.names(slot)) {
        if (live_.has(q) || !refs_.nameable(q, bound_)) continue;
        const bool q_moved = refs_.moved(q, indices);
        if (std::any_of(live.begin(), live.end(), [&](std::int32_t r) {
              return (q_moved || refs_.moved(r, indices)) && refs_.meet(q, r, changed);
            }))
          live_.set(q);
      }
    });
  }

  void set_nameable(std::int32_t slot) {
    refs_.each_nameable(slot, bound_rows_, bound_, [&](std::int32_t q) {
      ++c_.steps;
      live_.set(q);
    });
  }

  void call(std::int32_t proc) {
    Liveness& callee = all_[static_cast<std::size_t>(proc)];
    if (&callee == this) {  // calls itself: all its arrays may be used
      for (const ArrayId array : refs_.arrays()) all(array);
      return;
    }
    const Names& mine = c_.names_of(proc, proc_);
    if (recording_) {
      for (const ArrayId array : callee.refs_.arrays()) {
        const std::int32_t slot = refs_.slot(array);
        if (slot < 0 || live_.count(slot) == 0) continue;
        if (live_.has(refs_.whole(array))) callee.after_calls_[static_cast<std::size_t>(callee.refs_.whole(array))] = 1;
        Names live;
        for (const std::int32_t r : refs_.names(slot))
          if (live_.has(r)) live.push_back(r);
        c_.steps += refs_.names(slot).size();
        for (const std::int32_t q : callee.refs_.names(callee.refs_.slot(array))) {
          char& after = callee.after_calls_[static_cast<std::size_t>(q)];
          if (after == 0 && meets_any(mine[static_cast<std::size_t>(q)], live, refs_.many(slot))) after = 1;
        }
      }
    }
    for (const std::int32_t k : callee.exposed_by_call_) {
      if (callee.refs_.is_whole(k)) all(callee.refs_.arrays()[static_cast<std::size_t>(callee.refs_.slot_of(k))]);
      else set_aliases(mine[static_cast<std::size_t>(k)]);
    }
    const Summary& s = c_.summaries().of_proc(proc);
    if (s.reads_by_name || s.writes_by_name) named();
  }

  bool meets_any(std::int32_t q, const Names& live, bool many) {
    if (many) return !live.empty();
    c_.steps += live.size();
    return std::any_of(live.begin(), live.end(), [&](std::int32_t r) {
      return r == q || std::binary_search(refs_.aliases(q).begin(), refs_.aliases(q).end(), r);
    });
  }

  /// A name and all that may be the same block here, whether their loops are open or not.
  void set_aliases(std::int32_t r) {
    live_.set(r);
    const std::int32_t slot = refs_.slot_of(r);
    const Names& others = refs_.many(slot) ? refs_.names(slot) : refs_.aliases(r);
    if (refs_.many(slot) && live_.count(slot) >= others.size()) return;
    for (const std::int32_t q : others) live_.set(q);
    c_.steps += others.size();
  }

  void instr(const ir::Node& n, const ir::Instr& i) {
    switch (i.op) {
      case Opcode::stop: return live_.clear_all();
      case Opcode::exit_loop:
        return exits_.empty() ? live_.clear_all()
                              : live_.restore(exits_.back());  // while exposing nothing lives after loops
      case Opcode::ret: return recording_ ? live_.restore(end_) : live_.clear_all();
      case Opcode::call: return call(std::get<ir::ProcId>(i.operands[0]).row);
      default: break;
    }
    const Effects e = effects_of(p_, i);
    if (e.barrier) live_.clear_remote();
    const auto uses = c_.uses(n);
    if (i.op == Opcode::erase_array) {
      for (const LifetimeContext::Use& u : uses) none(u.array);
      return;
    }
    if (recording_)
      for (const LifetimeContext::Use& u : uses)
        if (u.ref >= 0) c_.fact(n.id, u.operand).dead_after = !live_.has(u.ref) && !live_.has(refs_.whole(u.array));
    if (i.op == Opcode::keep_block) return;  // about how long the block exists, not about what it holds
    const bool frees = i.op == Opcode::free_block;
    for (const LifetimeContext::Use& u : uses)
      if (u.ref >= 0 && (frees || u.replaced)) {
        for (const std::int32_t r : refs_.inside(u.ref)) live_.clear(r);
        c_.steps += refs_.inside(u.ref).size();
      }
    if (e.reads_by_name || e.writes_by_name) named();
    if (e.lists_blocks)
      for (const ArrayId array : refs_.arrays()) all(array);
    for (const LifetimeContext::Use& u : uses) {
      if (u.side != Side::own) continue;
      const bool needs = u.reads() || (has(i.op, op::frees) && e.may_fail);  // a missing block is an error
      if (u.ref < 0) {
        if (needs) all(u.array);
        continue;
      }
      // The rest of a block of which a part is written is needed like a value that is read. Names that nothing has here
      // are derived from this one where their loops begin.
      if (!needs && (frees || u.replaced)) continue;
      live_.set(u.ref);
      if (const std::int32_t slot = refs_.slot_of(u.ref); refs_.many(slot)) {
        set_nameable(slot);
      } else {
        for (const std::int32_t r : refs_.aliases(u.ref))
          if (refs_.nameable(r, bound_)) live_.set(r);
        c_.steps += refs_.aliases(u.ref).size();
      }
    }
  }

  void named() {
    for (const std::int32_t w : by_name_) live_.set(w);
    c_.steps += by_name_.size();
  }

  LifetimeContext& c_;
  const ir::Program& p_;
  std::int32_t proc_;
  const References& refs_;
  std::vector<Liveness>& all_;
  LiveNames live_;
  bool recording_ = false;
  std::vector<int> bound_;  // by index row: loops over it that are open here
  std::vector<IndexId> bound_rows_;
  std::vector<std::int32_t> by_name_;              // numbers of arrays as a whole that instructions may look up by name
  std::vector<char> after_calls_;                  // by number: live after some call
  std::size_t end_ = 0;                            // mark of what lives after the body
  std::vector<std::size_t> exits_;                 // marks of what lives after the open loops
  std::unordered_map<ir::NodeId, Names> exposed_;  // by loop
  Names exposed_by_call_;
};

}  // namespace

void find_last_uses(LifetimeContext& context) {
  const auto n_procs = static_cast<std::int32_t>(context.program().procs.size());
  std::vector<Liveness> all;
  all.reserve(static_cast<std::size_t>(n_procs) + 1);
  for (std::int32_t q = 0; q < n_procs; ++q) all.emplace_back(context, q, all);
  all.emplace_back(context, -1, all);
  for (Liveness& l : all) l.expose();
  for (std::size_t q = all.size(); q-- > 0;) all[q].record();
}

}  // namespace sial::analysis
