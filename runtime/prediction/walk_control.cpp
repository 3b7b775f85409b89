// Conditions and loops of the abstract walk.

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/base/iteration_shares.h"
#include "runtime/prediction/walk.h"

namespace sial {

namespace {

/// A loop with phases runs on until it leaves the same behind this often, if more trips would take many steps.
constexpr int settled_after = 3;
constexpr std::int64_t cheap_steps = 2'000'000;
constexpr std::int64_t cheap_tuples = 100'000;

}  // namespace

void Walk::leave_uncertain() {
  while (!uncertain_.empty()) {
    const Uncertain& u = uncertain_.back();
    const bool deeper = calls_.size() > u.call_depth || loops_.size() > u.loop_depth;
    const bool left = calls_.size() < u.call_depth || loops_.size() < u.loop_depth || at_ < u.begin || at_ >= u.end;
    if (deeper && calls_.size() >= u.call_depth && loops_.size() >= u.loop_depth) return;
    if (!left) return;
    uncertain_.pop_back();
  }
}

/// Data decide: first the one branch, then the other, as if both were executed.
void Walk::walk_both(const Instruction& in) {
  if (in.b <= at_) return;
  Uncertain u{at_ + 1, in.b, -1, loops_.size(), calls_.size()};
  const Instruction& last = m_.code[in.b - 1];
  if (in.b - 1 > at_ && last.op == Opcode::jump && last.a >= in.b) {
    u.skipped_jump = in.b - 1;
    u.end = last.a;
  }
  uncertain_.push_back(u);
}

void Walk::bind_largest(IndexId id) {
  const BoundIndex& index = bound_.indices[id.at()];
  index_[id.at()] = {true, false, largest_segment(id, index.lo, index.hi)};
}

bool Walk::begin_do(std::int32_t loop) {
  const LoopRow& row = m_.loops[loop];
  const IndexId id = row.indices[0];
  const BoundIndex& index = bound_.indices[id.at()];
  if (index.lo > index.hi) return false;
  if (!index.problem.empty()) fail(index.problem, index.remedy);
  const LoopFacts& facts = facts_[loop];
  LoopFrame frame;
  frame.loop = loop;
  frame.by_value = index.lo == index.hi || facts.phases || (facts.matters[0] && memory_.steps_left > 0);
  frame.passes = facts.reads_what_it_puts ? 1 : 0;
  frame.steps_at_trip = memory_.steps_left;
  if (facts.matters[0] && !frame.by_value) exact_ = false;
  if (frame.by_value) index_[id.at()] = {true, true, index.lo};
  else bind_largest(id);
  loops_.push_back(frame);
  temps_.enter_loop();
  return true;
}

bool Walk::settled(LoopFrame& frame) {
  if (!facts_[frame.loop].phases) return memory_.steps_left <= 0;
  const std::uint64_t now = ledger_.signature();
  frame.equal_trips = now == frame.signature ? frame.equal_trips + 1 : 0;
  frame.signature = now;
  const std::int64_t steps = frame.steps_at_trip - memory_.steps_left;
  frame.steps_at_trip = memory_.steps_left;
  const BoundIndex& index = bound_.indices[m_.loops[frame.loop].indices[0].at()];
  const std::int64_t left = std::int64_t{index.hi} - index_[m_.loops[frame.loop].indices[0].at()].value;
  if (memory_.steps_left <= 0) return true;
  return frame.equal_trips >= settled_after && left * steps > std::min(cheap_steps, memory_.steps_left);
}

bool Walk::next_do(std::int32_t loop) {
  LoopFrame& frame = loops_.back();
  temps_.end_iteration([this](TempBlock t) { free_local(t.array, t.key); });
  const IndexId id = m_.loops[loop].indices[0];
  if (!frame.by_value) return frame.passes-- > 0;
  const BoundIndex& index = bound_.indices[id.at()];
  if (index_[id.at()].value >= index.hi || settled(frame)) {
    if (index_[id.at()].value < index.hi && !facts_[frame.loop].phases) exact_ = false;
    return false;
  }
  ++index_[id.at()].value;
  return true;
}

/// The chunks that the rank would draw from its node's queue if all ranks were equally fast.
void Walk::divide() {
  const std::int64_t ranks = memory_.setting.ranks, total = pardo_.space.size();
  const NodeId node = ledger_.own_node();
  const std::int64_t on_node = ledger_.ranks_of(node), before = ledger_.ranks_before(node);
  pardo_.of_node = {share_before(total, ranks, before), share_before(total, ranks, before + on_node)};
  std::int64_t turn = 0;
  for (std::int64_t next = pardo_.of_node.first; next < pardo_.of_node.last; ++turn) {
    const std::int64_t size = guided_chunk(pardo_.of_node.last - next, on_node);
    if (turn % on_node == memory_.view.rank - before) pardo_.own.push_back({next, next + size});
    next += size;
  }
}

/// Whose this iteration is by the cyclic rule. Where one stands for many, every rank has some of them.
void Walk::take_turn() {
  const int owner = cyclic_owner(cyclic_counter_, memory_.setting.ranks);
  pardo_.mine = pardo_.collapsed || owner == memory_.view.rank;
  pardo_.on_node = pardo_.collapsed || ledger_.node_of(owner) == ledger_.own_node();
}

/// False: the program would end with an error, but data decide whether it gets here.
bool Walk::pardo_runs(const LoopRow& row) {
  for (const IndexId id : row.indices) {
    const BoundIndex& index = bound_.indices[id.at()];
    if (index.lo > index.hi) {
      if (!uncertain_.empty()) return false;
      fail(fmt::format("the range of index `{}` is empty ({}:{}), and a pardo needs at least one iteration", index.name,
                       index.lo, index.hi),
           "guard the pardo with an `if`, or use a `do` loop");
    }
    if (!index.problem.empty()) fail(index.problem, index.remedy);
  }
  return true;
}

/// Binds the indices: those that matter value by value, others to their largest segments. Whose iteration it is matters
/// where ranks fetch; then all indices are followed if that is cheap.
void Walk::follow_indices(const LoopRow& row, const LoopFacts& facts) {
  const bool exact_shares = pardo_.shared && (is_cyclic(pardo_.mode) || ledger_.several_nodes());
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const IndexId id = row.indices[d];
    const BoundIndex& index = bound_.indices[id.at()];
    const std::int64_t count = std::int64_t{index.hi} - index.lo + 1, total = pardo_.space.size();
    const bool affordable = total <= std::max<std::int64_t>(memory_.steps_left, 0) / count;
    if (facts.matters[d] && !affordable) exact_ = false;
    const bool cheap = total <= std::min(cheap_tuples, memory_.steps_left / 1000) / count;
    if (count == 1 || (facts.matters[d] && affordable) || (exact_shares && cheap)) {
      pardo_.by_value.push_back(id);
      pardo_.space.add(index.lo, index.hi);
      index_[id.at()] = {true, true, index.lo};
    } else {
      bind_largest(id);
      pardo_.collapsed = true;
    }
  }
}

bool Walk::begin_pardo(std::int32_t loop) {
  const LoopRow& row = m_.loops[loop];
  const LoopFacts& facts = facts_[loop];
  if (!pardo_runs(row)) return false;
  pardo_ = Pardo{};
  pardo_.active = true;
  pardo_.loop = loop;
  const PlanSetting& setting = memory_.setting;
  pardo_.mode = pardo_mode(m_, row, setting.static_schedule || setting.deterministic);
  pardo_.shared = setting.ranks > 1 && pardo_.mode != PardoMode::everywhere;
  if (!pardo_.shared) pardo_.mode = PardoMode::everywhere;
  follow_indices(row, facts);
  if (pardo_.shared && !is_cyclic(pardo_.mode) && !memory_.view.alone) divide();
  LoopFrame frame;
  frame.loop = loop;
  frame.passes = facts.reads_what_it_puts ? 1 : 0;
  frame.by_value = true;
  loops_.push_back(frame);
  temps_.enter_loop();
  next_tuple();
  return true;
}

/// Locals that an iteration of another rank has made are not this rank's.
void Walk::drop_locals_of_others() {
  if (!pardo_.mine)
    for (const TempBlock& created : created_locals_) free_local(created.array, created.key);
  created_locals_.clear();
}

bool Walk::next_in_pardo() {
  temps_.end_iteration([this](TempBlock t) { free_local(t.array, t.key); });
  drop_locals_of_others();
  if (next_tuple()) return true;
  if (loops_.back().passes-- <= 0 || !pardo_.collapsed) return false;
  pardo_.tuple = 0;
  pardo_.own_at = 0;
  next_tuple();
  return true;
}

bool Walk::next_tuple() {
  if (pardo_.tuple == pardo_.space.size()) return false;
  if (pardo_.tuple > 0 && memory_.steps_left <= 0) {
    exact_ = false;
    return false;
  }
  pardo_.space.at(pardo_.tuple, [this](std::size_t d, std::int32_t v) { index_[pardo_.by_value[d].at()].value = v; });
  if (is_cyclic(pardo_.mode)) {
    pardo_.mine = pardo_.on_node = false;  // until its turn
    if (pardo_.mode == PardoMode::cyclic_raw) take_turn();
  } else if (pardo_.shared && !memory_.view.alone) {
    pardo_.on_node = pardo_.of_node.first <= pardo_.tuple && pardo_.tuple < pardo_.of_node.last;
    while (pardo_.own_at < pardo_.own.size() && pardo_.own[pardo_.own_at].last <= pardo_.tuple) ++pardo_.own_at;
    pardo_.mine = pardo_.own_at < pardo_.own.size() && pardo_.own[pardo_.own_at].first <= pardo_.tuple;
  }
  ++pardo_.tuple;
  return true;
}

void Walk::leave_loop() {
  const LoopRow& row = m_.loops[loops_.back().loop];
  temps_.leave_loop([this](TempBlock t) { free_local(t.array, t.key); });
  if (row.kind == LoopKind::pardo) {
    drop_locals_of_others();
    pardo_ = Pardo{};
  }
  for (const IndexId i : row.indices) index_[i.at()] = {};
  loops_.pop_back();
}

}  // namespace sial
