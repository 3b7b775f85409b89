// Conditions and loops of the abstract walk.

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/error.h"
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
void Walk::jump_unless(const Instruction& in) {
  if (const auto condition = registers_.integer(in.a)) {
    if (*condition == 0) pc_ = in.b;
    return;
  }
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

void Walk::begin_do(const Instruction& in) {
  const LoopRow& row = m_.loops[in.a];
  const IndexId id = row.indices[0];
  const BoundIndex& index = bound_.indices[id.at()];
  const std::int32_t lo = index.is_sub ? 1 : index.lo, hi = index.is_sub ? subsegments_per_segment : index.hi;
  if (lo > hi) {
    pc_ = row.end;
    return;
  }
  if (!index.problem.empty()) fail(index.problem, index.remedy);
  const LoopFacts& facts = facts_[in.a];
  LoopFrame frame;
  frame.loop = in.a;
  frame.temp_mark = frame.first_temp = temps_.size();
  frame.by_value = lo == hi || facts.phases || (facts.matters[0] && memory_.steps_left > 0);
  frame.passes = facts.reads_what_it_puts ? 1 : 0;
  frame.steps_at_trip = memory_.steps_left;
  if (facts.matters[0] && !frame.by_value) exact_ = false;
  if (frame.by_value) index_[id.at()] = {true, true, lo};
  else bind_largest(id);
  loops_.push_back(frame);
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

void Walk::next_do(const Instruction& in) {
  LoopFrame& frame = loops_.back();
  free_temps(frame.temp_mark);
  const LoopRow& row = m_.loops[in.a];
  const IndexId id = row.indices[0];
  if (!frame.by_value) {
    if (frame.passes-- > 0) pc_ = row.begin + 1;
    else leave_loop();
    return;
  }
  const BoundIndex& index = bound_.indices[id.at()];
  const std::int32_t hi = index.is_sub ? subsegments_per_segment : index.hi;
  if (index_[id.at()].value >= hi || settled(frame)) {
    if (index_[id.at()].value < hi && !facts_[frame.loop].phases) exact_ = false;
    leave_loop();
    return;
  }
  ++index_[id.at()].value;
  pc_ = row.begin + 1;
}

/// The chunks that the rank would draw from its node's queue if all ranks were equally fast.
void Walk::divide() {
  const std::int64_t ranks = memory_.setting.ranks, total = pardo_.total;
  const NodeId node = ledger_.own_node();
  const std::int64_t on_node = ledger_.ranks_of(node), before = ledger_.ranks_before(node);
  const auto start = [&](std::int64_t n) { return total / ranks * n + total % ranks * n / ranks; };
  pardo_.of_node = {start(before), start(before + on_node)};
  std::int64_t turn = 0;
  for (std::int64_t next = pardo_.of_node.first; next < pardo_.of_node.last; ++turn) {
    const std::int64_t left = pardo_.of_node.last - next,
                       size = std::min(left, std::max<std::int64_t>(1, left / (2 * on_node)));
    if (turn % on_node == memory_.view.rank - before) pardo_.own.push_back({next, next + size});
    next += size;
  }
}

/// Whose this iteration is by the cyclic rule. Where one stands for many, every rank has some of them.
void Walk::take_turn() {
  const auto owner = static_cast<int>(cyclic_counter_++ % memory_.setting.ranks);
  pardo_.mine = pardo_.collapsed || owner == memory_.view.rank;
  pardo_.on_node = pardo_.collapsed || ledger_.node_of(owner) == ledger_.own_node();
}

void Walk::begin_pardo(const Instruction& in) {
  const LoopRow& row = m_.loops[in.a];
  const LoopFacts& facts = facts_[in.a];
  pardo_ = Pardo{};
  pardo_.active = true;
  pardo_.loop = in.a;
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const IndexId id = row.indices[d];
    const BoundIndex& index = bound_.indices[id.at()];
    if (index.lo > index.hi) {
      if (uncertain_.empty())
        fail(fmt::format("the range of index `{}` is empty ({}:{}), and a pardo needs at least one iteration",
                         index.name, index.lo, index.hi),
             "guard the pardo with an `if`, or use a `do` loop");
      pardo_.active = false;
      pc_ = row.end;
      return;
    }
    if (!index.problem.empty()) fail(index.problem, index.remedy);
  }
  const std::string_view pragma = row.pragma >= 0 ? std::string_view(m_.strings[row.pragma]) : std::string_view();
  const PlanSetting& setting = memory_.setting;
  pardo_.shared = setting.ranks > 1 && pragma != "SequentialPardoLoop";
  pardo_.cyclic = pardo_.shared && (setting.static_schedule || setting.deterministic || row.rank_dependent);
  pardo_.raw = pragma == "StaticTaskAllocParallelPardoLoop";
  // Whose iteration it is matters where ranks fetch; then all indices are followed if that is cheap.
  const bool exact_shares = pardo_.shared && (pardo_.cyclic || ledger_.several_nodes());
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const IndexId id = row.indices[d];
    const std::int64_t count = std::int64_t{bound_.indices[id.at()].hi} - bound_.indices[id.at()].lo + 1;
    const bool affordable = pardo_.total <= std::max<std::int64_t>(memory_.steps_left, 0) / count;
    if (facts.matters[d] && !affordable) exact_ = false;
    const bool cheap = pardo_.total <= std::min(cheap_tuples, memory_.steps_left / 1000) / count;
    if (count == 1 || (facts.matters[d] && affordable) || (exact_shares && cheap)) {
      pardo_.by_value.push_back(id);
      pardo_.total *= count;
      index_[id.at()] = {true, true, bound_.indices[id.at()].lo};
    } else {
      bind_largest(id);
      pardo_.collapsed = true;
    }
  }
  if (pardo_.shared && !pardo_.cyclic && !memory_.view.alone) divide();
  loops_.push_back({in.a, temps_.size(), temps_.size(), facts.reads_what_it_puts ? 1 : 0, true, 0, 0, 0});
  next_tuple();
}

void Walk::end_iteration() {
  free_temps(loops_.back().temp_mark);
  if (!pardo_.mine)
    for (const TempEntry& created : created_locals_) free_local(created.array, created.key);
  created_locals_.clear();
}

void Walk::next_pardo() {
  end_iteration();
  if (next_tuple()) pc_ = m_.loops[pardo_.loop].begin + 1;
  else if (loops_.back().passes-- > 0 && pardo_.collapsed) {
    pardo_.tuple = 0;
    pardo_.own_at = 0;
    next_tuple();
    pc_ = m_.loops[pardo_.loop].begin + 1;
  } else {
    leave_loop();
  }
}

bool Walk::next_tuple() {
  if (pardo_.tuple == pardo_.total) return false;
  if (pardo_.tuple > 0 && memory_.steps_left <= 0) {
    exact_ = false;
    return false;
  }
  std::int64_t rest = pardo_.tuple;
  for (const IndexId id : pardo_.by_value) {
    const BoundIndex& index = bound_.indices[id.at()];
    const std::int64_t count = std::int64_t{index.hi} - index.lo + 1;
    index_[id.at()].value = static_cast<std::int32_t>(index.lo + rest % count);
    rest /= count;
  }
  if (pardo_.cyclic) {
    pardo_.mine = pardo_.on_node = false;  // until its turn
    if (pardo_.raw) take_turn();
  } else if (pardo_.shared && !memory_.view.alone) {
    pardo_.on_node = pardo_.of_node.first <= pardo_.tuple && pardo_.tuple < pardo_.of_node.last;
    while (pardo_.own_at < pardo_.own.size() && pardo_.own[pardo_.own_at].last <= pardo_.tuple) ++pardo_.own_at;
    pardo_.mine = pardo_.own_at < pardo_.own.size() && pardo_.own[pardo_.own_at].first <= pardo_.tuple;
  }
  ++pardo_.tuple;
  return true;
}

void Walk::leave_loop() {
  const LoopFrame frame = loops_.back();
  const LoopRow& row = m_.loops[frame.loop];
  free_temps(frame.first_temp);
  if (row.kind == LoopKind::pardo) {
    end_iteration();
    pardo_ = Pardo{};
  }
  for (const IndexId i : row.indices) index_[i.at()] = {};
  loops_.pop_back();
}

}  // namespace sial
