// Backwards: what the gets and puts need of that which can be known.
#include "compiler/analysis/operands.h"
#include "compiler/plan/slice/slice_flow.h"

namespace sial::plan {
namespace {

/// Whether something was added.
bool unite(std::vector<char>& a, const std::vector<char>& b) {
  if (a.empty()) a.assign(b.size(), 0);
  bool changed = false;
  for (std::size_t r = 0; r < b.size(); ++r)
    if (b[r] && !a[r]) a[r] = 1, changed = true;
  return changed;
}

}  // namespace

bool SliceFlow::need(const ir::Node& node) {
  if (needed_.insert(node.id).second) changed_ = true;
  return true;
}

void SliceFlow::backward() {
  const auto& root = std::get<ir::Loop>(root_.value);
  needed_.insert(root_.id);
  do {
    changed_ = false;
    proc_done_.clear();
    need_frames_.assign(1, {-1, {}});
    Live live(n_registers_, 0);
    backward(root_, root, live);
  } while (changed_);
  if (!fetches_ && !puts_) return;
  for (const ir::NodeId id : needed_) actions_[id] = SliceAction::run;
  for (const auto& [id, d] : decisions_)
    if (needed_.contains(id) && d != Decision::skip)
      actions_[id] = d == Decision::end ? SliceAction::stop : SliceAction::abandon;
  // Gets and puts, and the statement `stop`, are not run.
  const auto leaf = [&](const ir::Instr& i, const ir::Node& n) {
    if (!needed(n)) return;
    if (i.op == Opcode::get) actions_[n.id] = SliceAction::fetch;
    if (op_class(i.op) == OpClass::put) actions_[n.id] = SliceAction::put;
    if (i.op == Opcode::stop) actions_[n.id] = SliceAction::stop;
  };
  analysis::for_each_instr(root.body, leaf);
  for (const std::int32_t proc : procs_) analysis::for_each_instr(p_.procs[static_cast<std::size_t>(proc)].body, leaf);
}

bool SliceFlow::backward(const ir::Body& body, Live& live) {
  bool any = false;
  for (auto n = body.rbegin(); n != body.rend(); ++n) {
    bool here = false;
    if (const auto* i = std::get_if<ir::Instr>(&n->value)) here = backward(*n, *i, live);
    else if (const auto* branch = std::get_if<ir::If>(&n->value)) here = backward(*n, *branch, live);
    else if (const auto* loop = std::get_if<ir::Loop>(&n->value)) here = backward(*n, *loop, live);
    any = any || here;
  }
  return any;
}

bool SliceFlow::backward(const ir::Node& n, const ir::Instr& instr, Live& live) {
  if (!reached_.contains(n.id)) return false;
  switch (instr.op) {
    case Opcode::get:
      if (ignored_.contains(n.id)) return false;
      fetches_ = true;
      return need(n);
    case Opcode::stop: live.assign(n_registers_, 0); return need(n);
    case Opcode::exit_loop: {
      const LoopFrame& loop = need_frames_.back().loops.back();
      live = loop.after;
      return needed(*loop.loop) && need(n);
    }
    case Opcode::ret: {
      const std::int32_t proc = need_frames_.back().proc;
      if (proc < 0) {
        live.assign(n_registers_, 0);
        return need(n);
      }
      live = proc_after_[proc];
      return needed_procs_.contains(proc) && need(n);
    }
    case Opcode::call: {
      const std::int32_t proc = std::get<ir::ProcId>(instr.operands[0]).row;
      if (skipped_procs_.contains(proc)) return false;
      const bool grown = unite(proc_after_[proc], live);
      if (proc_done_.insert(proc).second || grown) {
        changed_ = changed_ || grown;
        need_frames_.push_back({proc, {}});
        Live now = proc_after_[proc];
        const bool any = backward(p_.procs[static_cast<std::size_t>(proc)].body, now);
        need_frames_.pop_back();
        if (any && needed_procs_.insert(proc).second) changed_ = true;
        if (unite(proc_before_[proc], now)) changed_ = true;
      }
      if (!needed_procs_.contains(proc)) return false;
      live = proc_before_[proc];
      return need(n);
    }
    default: break;
  }
  if (op_class(instr.op) == OpClass::put) {
    if (ignored_.contains(n.id)) return false;
    puts_ = true;
    return need(n);
  }
  const std::vector<analysis::RegisterUse> uses = analysis::register_uses(instr);
  bool wanted = false;
  for (const analysis::RegisterUse& u : uses) wanted = wanted || (u.write && live[reg(u.scalar, u.reg)]);
  // What is wanted is known wherever it is wanted, so an instruction that makes a register unknown is not wanted here;
  // its value dies before it is read.
  if (!wanted || unknown_.contains(n.id)) return false;
  for (const analysis::RegisterUse& u : uses)
    if (u.write) live[reg(u.scalar, u.reg)] = 0;
  for (const analysis::RegisterUse& u : uses)
    if (u.read) live[reg(u.scalar, u.reg)] = 1;
  return need(n);
}

bool SliceFlow::backward(const ir::Node& n, const ir::If& branch, Live& live) {
  if (!reached_.contains(n.id)) return false;
  switch (decision(n)) {
    case Decision::skip: return false;
    case Decision::abandon:
    case Decision::end: live.assign(n_registers_, 0); return need(n);
    case Decision::run: break;
  }
  Live other = live;
  const bool a = backward(branch.then_body, live);
  const bool b = backward(branch.else_body, other);
  unite(live, other);
  if (!a && !b) return false;
  live[reg(false, branch.condition)] = 1;
  return need(n);
}

bool SliceFlow::backward(const ir::Node& n, const ir::Loop& loop, Live& live) {
  if (!reached_.contains(n.id)) return false;
  switch (decision(n)) {
    case Decision::skip: return false;
    case Decision::abandon:
    case Decision::end: live.assign(n_registers_, 0); return need(n);
    case Decision::run: break;
  }
  const Live after = live;
  bool any = false;
  for (bool again = true; again;) {
    // `live` is what the end of the body hands on: to the next iteration, or to what follows.
    Live now = live;
    need_frames_.back().loops.push_back({&n, after});
    any = backward(loop.body, now) || any;
    need_frames_.back().loops.pop_back();
    if (any && n.id != root_.id) need(n);
    if (needed(n))
      for (auto w = loop.wheres.rbegin(); w != loop.wheres.rend(); ++w) {
        unite(now, live);
        now[reg(false, w->condition)] = 1;
        backward(w->code, now);
      }
    again = unite(live, now);
  }
  return needed(n) && (any || n.id == root_.id);
}

}  // namespace sial::plan
