#include "runtime/core/model/memory/control.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/base/iteration_shares.h"

namespace sial {
namespace {

/// A loop with phases runs on until it leaves the same behind this often, if more trips would take many steps.
constexpr int steady_after = 3;
constexpr std::int64_t cheap_steps = 2'000'000;
constexpr std::int64_t cheap_tuples = 100'000;

/// A loop that data end takes about so many trips, where every access counts.
constexpr int usual_trips = 12;

}  // namespace

ModelControl::ModelControl(ModelContext& context, const PlannedRegisters& registers, ModelIndices& indices,
                           ModelOwnBlocks& own, IterationShare& share)
    : context_(context),
      registers_(registers),
      indices_(indices),
      own_(own),
      share_(share),
      next_(context.module.main_entry),
      at_(context.module.main_entry) {}

std::int32_t ModelControl::advance() {
  at_ = next_++;
  context_.ledger.at(at_);
  --context_.memory.steps_left;
  if (!uncertain_.empty()) leave_uncertain();
  return at_;
}

/// The model as evaluate_control() sees it.
struct ModelControl::Flow {
  ModelControl& w;

  std::optional<std::int32_t> condition(std::int32_t reg) const { return w.registers_.integer(reg); }
  void undecided(const Instruction& in) { w.take_both(in); }
  /// A return or an exit that data decide: the rest of the procedure, or of the loop, is followed too.
  bool taken(Opcode op) const {
    if (w.uncertain_.empty()) return true;
    const Uncertain& u = w.uncertain_.back();
    if (op == Opcode::jump) return u.skipped_jump != w.at_;
    if (op == Opcode::exit_loop) w.loops_.back().ended_by_data = true;
    const bool taken = u.call_depth != w.calls_.size() || (op == Opcode::exit_loop && u.loop_depth != w.loops_.size());
    w.perhaps_returned_ |= op == Opcode::ret && !taken;
    return taken;
  }
  std::int32_t position() const { return w.next_; }
  void go_to(std::int32_t pc) { w.next_ = pc; }
  LoopPositions loop(std::int32_t id) const {
    const LoopRow& row = w.context_.loop(id);
    return {row.begin + 1, row.next, row.end};
  }
  bool is_pardo(std::int32_t id) const { return w.context_.loop(id).kind == LoopKind::pardo; }
  bool open_loop(std::int32_t id) { return is_pardo(id) ? w.begin_pardo(id) : w.begin_do(id); }
  bool next_iteration(std::int32_t id) { return is_pardo(id) ? w.next_in_pardo() : w.next_do(id); }
  void close_loop() { w.leave_loop(); }
  std::size_t open_loops() const { return w.loops_.size(); }
  void filtered(std::int32_t) {}
  /// Procedures that call others several times take steps without number: when there are no more, each is followed
  /// once.
  bool may_call(std::int32_t proc) {
    const std::string& name = w.context_.module.procs[static_cast<std::size_t>(proc)].name;
    if (w.calls_.size() >= max_call_depth)
      w.context_.fail(w.at_, fmt::format("procedure `{}` is called recursively without end", name), {});
    if (w.context_.memory.steps_left > 0 || w.followed_.insert(proc).second) return true;
    w.context_.approximate();
    return false;
  }
  std::int32_t entry(std::int32_t proc) const { return w.context_.module.procs[static_cast<std::size_t>(proc)].entry; }
  void push_call(CallFrame frame) { w.calls_.push_back(frame); }
  CallFrame pop_call() {
    const CallFrame frame = w.calls_.back();
    w.calls_.pop_back();
    return frame;
  }
};

bool ModelControl::follow(const Instruction& in) {
  Flow flow{*this};
  if (evaluate_control(in.op, in, flow)) return true;
  switch (in.op) {
    case Opcode::halt: halted_ = true; return true;
    case Opcode::stop: halted_ = halted_ || uncertain_.empty(); return true;
    case Opcode::body_begin:
      if (share_.in_pardo && pardo_.loop == in.a && pardo_.mode == PardoMode::cyclic) take_turn();
      return true;
    default: return false;
  }
}

void ModelControl::leave_uncertain() {
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
void ModelControl::take_both(const Instruction& in) {
  if (in.b <= at_) return;
  Uncertain u{at_ + 1, in.b, -1, loops_.size(), calls_.size()};
  const Instruction& last = context_.module.code[static_cast<std::size_t>(in.b - 1)];
  if (in.b - 1 > at_ && last.op == Opcode::jump && last.a >= in.b) {
    u.skipped_jump = in.b - 1;
    u.end = last.a;
  }
  uncertain_.push_back(u);
}

bool ModelControl::begin_do(std::int32_t loop) {
  const IndexId id = context_.loop(loop).indices[0];
  const BoundIndex& index = context_.bound.indices[id.at()];
  if (index.lo > index.hi) return false;
  if (!index.problem.empty()) context_.fail(at_, index.problem, index.remedy);
  const LoopFacts& facts = context_.facts[static_cast<std::size_t>(loop)];
  const std::int64_t steps_left = context_.memory.steps_left;
  Frame frame;
  frame.loop = loop;
  frame.by_value = index.lo == index.hi || facts.phases || (facts.matters[0] && steps_left > 0);
  frame.passes = facts.reads_what_it_puts ? 1 : 0;
  frame.steps_at_trip = steps_left;
  if (facts.matters[0] && !frame.by_value) context_.approximate();
  if (frame.by_value) indices_.bind(id, index.lo);
  else indices_.bind_largest(id);
  loops_.push_back(frame);
  own_.enter_loop();
  return true;
}

bool ModelControl::is_steady(Frame& frame) {
  const std::int64_t steps_left = context_.memory.steps_left;
  if (context_.memory.view.every_access && frame.ended_by_data && ++frame.trips >= usual_trips) return true;
  if (!context_.facts[static_cast<std::size_t>(frame.loop)].phases) return steps_left <= 0;
  const std::uint64_t now = context_.ledger.signature();
  frame.equal_trips = now == frame.signature ? frame.equal_trips + 1 : 0;
  frame.signature = now;
  const std::int64_t steps = frame.steps_at_trip - steps_left;
  frame.steps_at_trip = steps_left;
  const IndexId id = context_.loop(frame.loop).indices[0];
  const std::int64_t left = std::int64_t{context_.bound.indices[id.at()].hi} - indices_.value(id);
  if (steps_left <= 0) return true;
  return frame.equal_trips >= steady_after && left * steps > std::min(cheap_steps, steps_left);
}

bool ModelControl::next_do(std::int32_t loop) {
  Frame& frame = loops_.back();
  own_.end_iteration();
  const IndexId id = context_.loop(loop).indices[0];
  if (!frame.by_value) return frame.passes-- > 0;
  const std::int32_t value = indices_.value(id), hi = context_.bound.indices[id.at()].hi;
  if (value >= hi || is_steady(frame)) {
    if (value < hi && !context_.facts[static_cast<std::size_t>(loop)].phases) context_.approximate();
    return false;
  }
  indices_.bind(id, value + 1);
  return true;
}

/// The chunks that the rank would draw from its node's queue if all ranks were equally fast.
void ModelControl::divide() {
  const Ledger& ledger = context_.ledger;
  const std::int64_t ranks = context_.memory.setting.ranks, total = pardo_.space.size();
  const NodeId node = ledger.own_node();
  const std::int64_t on_node = ledger.ranks_of(node), before = ledger.ranks_before(node);
  pardo_.space.deal(ledger.node_of(context_.memory.setting.ranks - 1).number() + 1);
  pardo_.of_node = {share_before(total, ranks, before), share_before(total, ranks, before + on_node)};
  std::int64_t turn = 0;
  for (std::int64_t next = pardo_.of_node.first; next < pardo_.of_node.last; ++turn) {
    const std::int64_t size = guided_chunk(pardo_.of_node.last - next, on_node);
    if (turn % on_node == context_.memory.view.rank - before) pardo_.own.push_back({next, next + size});
    next += size;
  }
}

/// Whose this iteration is by the cyclic rule. Where one stands for many, every rank has some of them.
void ModelControl::take_turn() {
  const int owner = cyclic_owner(cyclic_counter_, context_.memory.setting.ranks);
  share_.mine = pardo_.collapsed || owner == context_.memory.view.rank;
  share_.on_node = pardo_.collapsed || context_.ledger.node_of(owner) == context_.ledger.own_node();
}

/// False: a range is empty.
bool ModelControl::pardo_runs(const LoopRow& row) const {
  const auto index = [this](IndexId id) -> const BoundIndex& { return context_.bound.indices[id.at()]; };
  if (std::ranges::any_of(row.indices, [&](IndexId id) { return index(id).lo > index(id).hi; })) return false;
  for (const IndexId id : row.indices)
    if (!index(id).problem.empty()) context_.fail(at_, index(id).problem, index(id).remedy);
  return true;
}

/// Binds the indices: those that matter value by value, others to their largest segments. Whose iteration it is matters
/// where ranks fetch; then all indices are followed if that is cheap.
void ModelControl::follow_indices(const LoopRow& row, const LoopFacts& facts) {
  const std::int64_t steps_left = context_.memory.steps_left;
  const bool exact_shares = share_.divided && (is_cyclic(pardo_.mode) || context_.ledger.several_nodes());
  for (std::size_t d = 0; d < row.indices.size(); ++d) {
    const IndexId id = row.indices[d];
    const BoundIndex& index = context_.bound.indices[id.at()];
    const std::int64_t count = std::int64_t{index.hi} - index.lo + 1, total = pardo_.space.size();
    const bool affordable = total <= std::max<std::int64_t>(steps_left, 0) / count;
    if (facts.matters[d] && !affordable) context_.approximate();
    const bool cheap = total <= std::min(cheap_tuples, steps_left / 1000) / count;
    if (count == 1 || (facts.matters[d] && affordable) || (exact_shares && cheap)) {
      pardo_.by_value.push_back(id);
      pardo_.space.add(index.lo, index.hi);
      indices_.bind(id, index.lo);
    } else {
      indices_.bind_largest(id);
      pardo_.collapsed = true;
    }
  }
}

/// A run takes the iterations in another order where memory is short.
void ModelControl::order(const LoopRow& row) {
  if (pardo_.by_value.size() != row.indices.size()) return;
  auto found = orders_.find(pardo_.loop);
  if (found == orders_.end()) {
    const PlanSetting& setting = context_.memory.setting;
    std::vector<std::int32_t> ints;
    std::vector<double> scalars;
    initial_values(context_.module, context_.memory.job, ints, scalars);
    const OrderSetting orders{setting.spill_capacity,
                              setting.ranks,
                              setting.node_size(),
                              {setting.static_schedule || setting.deterministic},
                              setting.deterministic};
    found = orders_.emplace(pardo_.loop, choose_order(context_.bound, ints, pardo_.loop, orders)).first;
  }
  pardo_.space.follow(found->second.order);
}

bool ModelControl::begin_pardo(std::int32_t loop) {
  const LoopRow& row = context_.loop(loop);
  const LoopFacts& facts = context_.facts[static_cast<std::size_t>(loop)];
  if (!pardo_runs(row)) return false;
  const PlanSetting& setting = context_.memory.setting;
  pardo_ = Pardo{};
  pardo_.loop = loop;
  pardo_.mode = pardo_mode(context_.module, row, {setting.static_schedule || setting.deterministic});
  share_ = IterationShare{};
  share_.in_pardo = true;
  share_.divided = setting.ranks > 1 && pardo_.mode != PardoMode::everywhere;
  if (!share_.divided) pardo_.mode = PardoMode::everywhere;
  follow_indices(row, facts);
  if (setting.spill_capacity > 0) order(row);
  if (pardo_.mode == PardoMode::dynamic && !context_.memory.view.alone) divide();
  Frame frame;
  frame.loop = loop;
  frame.passes = facts.reads_what_it_puts ? 1 : 0;
  frame.by_value = true;
  loops_.push_back(frame);
  own_.enter_loop();
  next_tuple();
  return true;
}

bool ModelControl::next_in_pardo() {
  own_.end_iteration();
  own_.end_pardo_iteration();
  if (next_tuple()) return true;
  if (loops_.back().passes-- <= 0 || !pardo_.collapsed) return false;
  pardo_.tuple = 0;
  pardo_.own_at = 0;
  next_tuple();
  return true;
}

bool ModelControl::next_tuple() {
  const std::int64_t tuple = pardo_.tuple;
  if (tuple == pardo_.space.size()) return false;
  if (tuple > 0 && context_.memory.steps_left <= 0) {
    context_.approximate();
    return false;
  }
  pardo_.space.at(tuple, [this](std::size_t d, std::int32_t v) { indices_.bind(pardo_.by_value[d], v); });
  if (is_cyclic(pardo_.mode)) {
    share_.mine = share_.on_node = false;  // until its turn
    if (pardo_.mode == PardoMode::cyclic_raw) take_turn();
  } else if (pardo_.mode == PardoMode::dynamic && !context_.memory.view.alone) {
    const auto holds = [&](const Range& r) { return r.first <= tuple && tuple < r.last; };
    share_.on_node = holds(pardo_.of_node);
    while (pardo_.own_at < pardo_.own.size() && pardo_.own[pardo_.own_at].last <= tuple) ++pardo_.own_at;
    share_.mine = pardo_.own_at < pardo_.own.size() && holds(pardo_.own[pardo_.own_at]);
  }
  ++pardo_.tuple;
  return true;
}

void ModelControl::leave_loop() {
  const LoopRow& row = context_.loop(loops_.back().loop);
  own_.leave_loop();
  if (row.kind == LoopKind::pardo) {
    own_.end_pardo_iteration();
    pardo_ = Pardo{};
    share_ = IterationShare{};
  }
  for (const IndexId i : row.indices) indices_.unbind(i);
  loops_.pop_back();
}

}  // namespace sial
