// Forwards: what can be known ahead of the program.
#include "compiler/plan/slice/slice_flow.h"

#include <algorithm>

#include "compiler/analysis/operands.h"
#include "runtime/core/base/fault_injection.h"

namespace sial::plan {

SliceFlow::SliceFlow(const ir::Program& program, analysis::Summaries& summaries, const ir::Node& root,
                     const std::set<ir::NodeId>& ignored)
    : p_(program),
      summaries_(summaries),
      root_(root),
      ignored_(ignored),
      n_ints_(static_cast<std::size_t>(program.n_int_registers)),
      n_registers_(n_ints_ + static_cast<std::size_t>(program.n_scalar_registers)) {
  find_procs(std::get<ir::Loop>(root.value).body);
  if (recursive_) return;
  forward();
  std::erase_if(losses_, [&](const Loss& l) { return !reached_.contains(l.node->id); });
  if (std::any_of(losses_.begin(), losses_.end(), [](const Loss& l) { return l.kind == LossKind::no_slice; })) return;
  backward();
}

bool SliceFlow::State::join(const State& o) {
  if (!o.live) return false;
  if (!live) {
    *this = o;
    return true;
  }
  bool changed = false;
  for (std::size_t r = 0; r < origin.size(); ++r)
    if (origin[r] < 0 && o.origin[r] >= 0) {
      origin[r] = o.origin[r];
      changed = true;
    }
  return changed;
}

void SliceFlow::find_procs(const ir::Body& body) {
  analysis::for_each_instr(body, [&](const ir::Instr& i, const ir::Node&) {
    if (i.op != Opcode::call) return;
    const std::int32_t proc = std::get<ir::ProcId>(i.operands[0]).row;
    if (std::find(active_.begin(), active_.end(), proc) != active_.end()) recursive_ = true;
    if (!procs_.insert(proc).second) return;
    active_.push_back(proc);
    find_procs(p_.procs[static_cast<std::size_t>(proc)].body);
    active_.pop_back();
  });
  // The loop's own procedure may not be called from within it either.
  for (const std::int32_t proc : procs_) {
    bool own = false;
    analysis::Path path;
    analysis::visit(p_.procs[static_cast<std::size_t>(proc)].body, path,
                    [&](const ir::Node& n, const analysis::Path&) { own = own || n.id == root_.id; });
    recursive_ = recursive_ || own;
  }
}

/// Registers that a node may write, called procedures included.
const std::vector<std::int32_t>& SliceFlow::written(const ir::Node& node) {
  const auto [it, inserted] = written_.try_emplace(node.id);
  if (inserted) {
    collect_written(node, it->second);
    std::sort(it->second.begin(), it->second.end());
    it->second.erase(std::unique(it->second.begin(), it->second.end()), it->second.end());
  }
  return it->second;
}

void SliceFlow::collect_written(const ir::Node& node, std::vector<std::int32_t>& out) {
  const auto body = [&](const ir::Body& nodes, std::vector<std::int32_t>& to) {
    for (const ir::Node& n : nodes) collect_written(n, to);
  };
  if (const auto* loop = std::get_if<ir::Loop>(&node.value)) {
    for (const ir::Where& w : loop->wheres) body(w.code, out);
    body(loop->body, out);
  } else if (const auto* branch = std::get_if<ir::If>(&node.value)) {
    body(branch->then_body, out);
    body(branch->else_body, out);
  } else if (const auto* section = std::get_if<ir::Section>(&node.value)) {
    body(section->body, out);
  } else if (const auto& instr = std::get<ir::Instr>(node.value); instr.op == Opcode::call) {
    const std::int32_t proc = std::get<ir::ProcId>(instr.operands[0]).row;
    if (!written_by_proc_.contains(proc)) {
      std::vector<std::int32_t> list;
      body(p_.procs[static_cast<std::size_t>(proc)].body, list);
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      written_by_proc_[proc] = std::move(list);
    }
    const std::vector<std::int32_t>& list = written_by_proc_[proc];
    out.insert(out.end(), list.begin(), list.end());
  } else {
    for (const analysis::RegisterUse& u : analysis::register_uses(instr))
      if (u.write) out.push_back(static_cast<std::int32_t>(reg(u.scalar, u.reg)));
  }
}

/// Follows from registers, index values and unchanged tables alone.
bool SliceFlow::pure(const ir::Instr& instr) const {
  if (instr.op == Opcode::real_element) {
    const ArrayId array = std::get<ir::Block>(instr.operands[1]).array;
    return p_.arrays[array.at()].kind == ArrayKind::static_ &&
           (!summaries_.of_node(root_).may_write(p_, array) || fault_enabled(Fault::slice_table_changes));
  }
  return is_arithmetic(instr.op) && !uses_blocks(instr.op);
}

bool SliceFlow::gets(const analysis::Summary& summary) {
  return std::any_of(summary.arrays.begin(), summary.arrays.end(),
                     [](const analysis::ArrayTouch& t) { return t.own.fetched; });
}

SliceFlow::Decision SliceFlow::decision(const ir::Node& node) const {
  const auto found = decisions_.find(node.id);
  return found == decisions_.end() ? Decision::run : found->second;
}

void SliceFlow::decide(const ir::Node& node, Decision d, Loss loss) {
  if (!decisions_.try_emplace(node.id, d).second) return;
  loss.kind = d == Decision::skip ? LossKind::skipped : d == Decision::abandon ? LossKind::abandoned : LossKind::ended;
  if (node.id == root_.id) loss.kind = LossKind::no_slice;
  losses_.push_back(loss);
  abandons_ = abandons_ || d == Decision::abandon;
  changed_ = true;
}

bool SliceFlow::contains_ret(const ir::Body& body) const {
  bool found = false;
  analysis::for_each_instr(body, [&](const ir::Instr& i, const ir::Node&) { found = found || i.op == Opcode::ret; });
  return found;
}

/// An exit that leaves the loop around the body.
bool SliceFlow::contains_exit(const ir::Body& body) const {
  for (const ir::Node& n : body) {
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
      if (i->op == Opcode::exit_loop) return true;
    } else if (const auto* branch = std::get_if<ir::If>(&n.value)) {
      if (contains_exit(branch->then_body) || contains_exit(branch->else_body)) return true;
    }
  }
  return false;
}

/// Treats an `if`, or a loop with a where clause, whose condition nobody knows ahead of the program.
void SliceFlow::unknown_condition(const ir::Node& node, SourcePlace place, std::int32_t condition, const State& s) {
  const Frame& frame = frames_.back();
  const bool own_frame = frames_.size() == 1;  // of the loop itself: a return leaves it
  const auto r = reg(false, condition);
  const Loss loss{LossKind::skipped, &node, place, static_cast<std::int32_t>(r), s.origin[r]};
  bool rets = false;
  if (const auto* branch = std::get_if<ir::If>(&node.value)) {
    rets = contains_ret(branch->then_body) || contains_ret(branch->else_body);
    if (!rets && (contains_exit(branch->then_body) || contains_exit(branch->else_body))) {
      const ir::Node& loop = *frame.loops.back();
      if (loop.id == root_.id) return decide(node, Decision::end, loss);
      // A loop that gets nothing is passed over as a whole: what is after it may still be known.
      if (!gets(summaries_.of_node(loop)) && !contains_ret(std::get<ir::Loop>(loop.value).body))
        return decide(loop, Decision::skip, loss);
      return decide(node, Decision::abandon, loss);
    }
  } else {
    rets = contains_ret(std::get<ir::Loop>(node.value).body);
  }
  if (!rets) return decide(node, Decision::skip, loss);
  // So is a procedure that gets nothing.
  if (!own_frame && !gets(summaries_.of_proc(frame.proc))) {
    changed_ = skipped_procs_.insert(frame.proc).second || changed_;
    return;
  }
  decide(node, own_frame ? Decision::end : Decision::abandon, loss);
}

void SliceFlow::kill(const ir::Node& node, State& s) {
  if (fault_enabled(Fault::slice_set_under_unknown)) return;
  for (const std::int32_t r : written(node))
    if (s.origin[static_cast<std::size_t>(r)] < 0) s.origin[static_cast<std::size_t>(r)] = node.id;
}

// --------------------------------------------------------------------------------------------------------------------

void SliceFlow::forward() {
  do {
    changed_ = false;
    reached_.clear();
    unknown_.clear();
    proc_done_.clear();
    State s;
    s.live = true;
    s.origin.assign(n_registers_, -1);
    frames_.assign(1, {});
    forward(root_, std::get<ir::Loop>(root_.value), s);
  } while (changed_ &&
           !std::any_of(losses_.begin(), losses_.end(), [](const Loss& l) { return l.kind == LossKind::no_slice; }));
}

void SliceFlow::forward(const ir::Body& body, State& s) {
  for (const ir::Node& n : body) {
    if (!s.live) return;
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) forward(n, *i, s);
    else if (const auto* branch = std::get_if<ir::If>(&n.value)) forward(n, *branch, s);
    else if (const auto* loop = std::get_if<ir::Loop>(&n.value)) forward(n, *loop, s);
    else s.live = false;  // a section: loops with a slice have none
  }
}

void SliceFlow::forward(const ir::Node& n, const ir::Instr& instr, State& s) {
  reached_.insert(n.id);
  switch (instr.op) {
    case Opcode::call: {
      const std::int32_t proc = std::get<ir::ProcId>(instr.operands[0]).row;
      if (skipped_procs_.contains(proc)) return kill(n, s);
      State& in = proc_in_[proc];
      if (in.join(s) || proc_done_.insert(proc).second) {
        proc_done_.insert(proc);
        frames_.push_back({proc, {}, {}, {}});
        State now = in;
        forward(p_.procs[static_cast<std::size_t>(proc)].body, now);
        frames_.back().ret.join(now);
        // Calls met before this one have used the older result: another pass.
        if (proc_out_[proc].join(frames_.back().ret)) changed_ = true;
        frames_.pop_back();
      }
      s = proc_out_[proc];
      return;
    }
    case Opcode::ret:
      frames_.back().ret.join(s);
      s.live = false;
      return;
    case Opcode::exit_loop:
      frames_.back().exits.back().join(s);
      s.live = false;
      return;
    case Opcode::stop: s.live = false; return;
    default: break;
  }
  const std::vector<analysis::RegisterUse> uses = analysis::register_uses(instr);
  ir::NodeId origin = pure(instr) ? -1 : n.id;
  for (const analysis::RegisterUse& u : uses)
    if (u.read && origin < 0) origin = s.origin[reg(u.scalar, u.reg)];
  for (const analysis::RegisterUse& u : uses)
    if (u.write) s.origin[reg(u.scalar, u.reg)] = origin;
  if (origin >= 0) unknown_.insert(n.id);
}

void SliceFlow::forward(const ir::Node& n, const ir::If& branch, State& s) {
  reached_.insert(n.id);
  if (decision(n) == Decision::run && s.origin[reg(false, branch.condition)] >= 0)
    unknown_condition(n, n.place, branch.condition, s);
  if (s.origin[reg(false, branch.condition)] >= 0 && decision(n) == Decision::run)
    return kill(n, s);  // another pass does it right
  switch (decision(n)) {
    case Decision::run: {
      State other = s;
      forward(branch.then_body, s);
      forward(branch.else_body, other);
      s.join(other);
      return;
    }
    case Decision::skip: kill(n, s); return;
    case Decision::abandon:
    case Decision::end: s.live = false; return;
  }
}

void SliceFlow::forward(const ir::Node& n, const ir::Loop& loop, State& s) {
  reached_.insert(n.id);
  if (decision(n) == Decision::skip) return kill(n, s);
  if (decision(n) != Decision::run) {
    s.live = false;
    return;
  }
  frames_.back().loops.push_back(&n);
  frames_.back().exits.push_back({});
  State head = s, exits, back;
  if (n.id == root_.id && abandons_) kill(n, head);
  for (bool again = true; again;) {
    State now = head;
    back = {};
    for (const ir::Where& w : loop.wheres) {
      forward(w.code, now);
      if (now.origin[reg(false, w.condition)] >= 0) {
        unknown_condition(n, w.place, w.condition, now);
        now.live = false;  // another pass does it right
        break;
      }
      back.join(now);
    }
    forward(loop.body, now);
    back.join(now);
    again = head.join(back);
  }
  exits = frames_.back().exits.back();
  frames_.back().exits.pop_back();
  frames_.back().loops.pop_back();
  s.join(back);
  s.join(exits);
}

}  // namespace sial::plan
