#include "runtime/core/interp/rank_check/rank_check.h"
#include "runtime/core/bytecode/evaluate/iteration_space.h"

#include <algorithm>
#include <utility>

namespace sial {
namespace {

using Kind = FlowOperand::Kind;

/// Enough to name where a value comes from.
constexpr std::size_t max_shares = 4;
/// Between two synchronisations; what comes after is not compared.
constexpr std::size_t max_events = 100000, max_snapshots = 2000;

FlowOperand operand_of(const Variable& v) {
  switch (v.kind) {
    case Variable::Kind::integer: return {Kind::integer, v.id, false};
    case Variable::Kind::scalar: return {Kind::scalar, v.id, false};
    case Variable::Kind::array: break;
  }
  return {Kind::array, v.id, false};
}

}  // namespace

void RankCheck::Origin::join(const Origin& other) {
  own |= other.own;
  wrote |= other.wrote;
  summed |= other.summed;
  for (const PardoShare& share : other.shares)
    if (shares.size() < max_shares && std::find(shares.begin(), shares.end(), share) == shares.end())
      shares.push_back(share);
}

RankCheck::RankCheck(Program program)
    : p_(std::move(program)),
      flow_(p_.module),
      ints_(static_cast<std::size_t>(p_.module.n_int_registers)),
      scalars_(static_cast<std::size_t>(p_.module.n_scalar_registers)),
      compared_(ints_.size()) {}

/// Whether it is an array whose blocks a rank keeps from iteration to iteration.
bool RankCheck::lasts(ArrayId array) const {
  const ArrayKind kind = p_.module.arrays[array.at()].kind;
  return kind == ArrayKind::static_ || kind == ArrayKind::local || kind == ArrayKind::contiguous_local;
}

const RankCheck::LoopFlow& RankCheck::flow_of_loop(std::int32_t loop) {
  const auto [at, fresh] = loops_.try_emplace(loop);
  if (fresh) {
    const LoopRow& row = p_.module.loops[static_cast<std::size_t>(loop)];
    at->second = {flow_.written(row.begin + 1, row.end), flow_.read(row.begin + 1, row.end)};
  }
  return at->second;
}

PardoShare RankCheck::present_share(const Variable& v, std::int32_t pc) const {
  return {v, v, p_.module.loops[static_cast<std::size_t>(loop_)].begin, pc, pardo_};
}

RankCheck::Origin RankCheck::control() const {
  Origin all;
  for (const Branch& b : branches_) all.join(b.origin);
  return all;
}

double RankCheck::register_value(const Variable& v) const {
  const auto i = static_cast<std::size_t>(v.id);
  return v.kind == Variable::Kind::integer ? p_.ints[i] : p_.scalars[i];
}

RankCheck::Origin& RankCheck::origin_of_register(const FlowOperand& operand) {
  return (operand.kind == Kind::integer ? ints_ : scalars_)[static_cast<std::size_t>(operand.id)];
}

RankCheck::Origin RankCheck::origin_of(const FlowOperand& operand) {
  Origin origin;
  const ArrayId array = flow_.array_of(operand);
  if (array == no_array) {
    origin = origin_of_register(operand);
  } else {
    const auto found = arrays_.find(array);
    if (found == arrays_.end()) return origin;
    const ArrayOrigin& all = found->second;
    if (all.all.clean() && all.blocks.empty()) return origin;
    std::uint64_t block = whole_array;
    origin = all.all;
    if (operand.kind == Kind::block && p_.module.arrays[array.at()].kind != ArrayKind::contiguous_local) {
      block = p_.block_of(operand.id);
      if (const auto one = all.blocks.find(block); one != all.blocks.end()) origin = one->second;
    } else {
      for (const auto& [key, one] : all.blocks) origin.join(one);
    }
    if (!lasts(array)) return origin;
    if (in_pardo_ && !origin.shares.empty() && origin.shares.front().pardo < pardo_) read_[array].insert(block);
  }
  if (Variable v; flow_.variable_of(operand, v))
    for (PardoShare& share : origin.shares) share.through = v;
  return origin;
}

// --- what an instruction does

void RankCheck::step(std::int32_t pc, std::size_t calls, bool in_pardo) {
  if (in_pardo_ && !in_pardo) end_pardo();
  while (!branches_.empty()) {
    const Branch& b = branches_.back();
    if (calls > b.calls || (calls == b.calls && pc >= b.begin && pc < b.end)) break;
    branches_.pop_back();
  }
  const Instruction& in = p_.module.code[static_cast<std::size_t>(pc)];
  switch (in.op) {
    case Opcode::jump_unless:
      if (!in_pardo) branch(pc, in.a, flow_.end_of_branch(pc), calls);
      return;
    case Opcode::where: {
      const LoopRow& loop = p_.module.loops[static_cast<std::size_t>(in.b)];
      if (!in_pardo) branch(pc, in.a, loop.next, calls);
      else if (loop.kind == LoopKind::pardo && !ints_[static_cast<std::size_t>(in.a)].own)
        for (const PardoShare& share : ints_[static_cast<std::size_t>(in.a)].shares)
          if (share.pardo < pardo_) record_use(pc, share);
      return;
    }
    case Opcode::pardo_begin: return begin_pardo(pc);
    case Opcode::fused:
      for (std::int32_t k = 1; k <= in.a; ++k) flow(pc + k);
      return;
    default: break;
  }
  if (op_class(in.op) != OpClass::output) return flow(pc);
  switch (opcode_info(in.op)->operands[0]) {
    case OperandKind::sin: return print(pc, {Kind::scalar, in.a, false});
    case OperandKind::iin: return print(pc, {Kind::integer, in.a, false});
    case OperandKind::ref: return print(pc, {Kind::block, in.a, false});
    case OperandKind::region: return print(pc, {Kind::region, in.a, false});
    case OperandKind::array: return print(pc, {Kind::array, in.a, false});
    default: return;  // strings and indices
  }
}

void RankCheck::flow(std::int32_t pc) {
  const Instruction& in = p_.module.code[static_cast<std::size_t>(pc)];
  const Flow& flow = flow_.at(pc);
  const auto at = [](const auto& registers, std::int32_t id) {
    return static_cast<double>(registers[static_cast<std::size_t>(id)]);
  };
  if (in.op == Opcode::real_compare)
    compared_[static_cast<std::size_t>(in.a)] = {pc, at(p_.scalars, in.b), at(p_.scalars, in.c)};
  if (in.op == Opcode::int_compare)
    compared_[static_cast<std::size_t>(in.a)] = {pc, at(p_.ints, in.b), at(p_.ints, in.c)};
  if (flow.targets.empty()) return;
  Origin origin;
  origin.own = flow.own_value;
  for (const FlowOperand& source : flow.sources) origin.join(origin_of(source));
  if (!branches_.empty()) origin.join(control());
  for (const FlowOperand& target : flow.targets) {
    if (in_pardo_) use_in_pardo(pc, target, origin);
    write(target, origin, pc);
  }
}

void RankCheck::write(const FlowOperand& target, Origin origin, std::int32_t pc) {
  if (flow_.array_of(target) != no_array) return write_array(target, std::move(origin), pc);
  Origin& now = origin_of_register(target);
  Variable v;
  if (in_pardo_ && flow_.variable_of(target, v)) {
    const auto& sources = flow_.at(pc).sources;
    const bool adds = target.keeps || std::any_of(sources.begin(), sources.end(), [&](const FlowOperand& s) {
                        return s.kind == target.kind && s.id == target.id;
                      });
    const bool of_this_pardo = !now.shares.empty() && now.shares.front().pardo == pardo_;
    now.summed = adds && (now.summed || !of_this_pardo);
    now.own = origin.own || (target.keeps && now.own);
    now.wrote = true;
    now.shares = {present_share(v, pc)};
  } else if (target.keeps) {
    now.join(origin);
  } else {
    now = std::move(origin);
  }
}

void RankCheck::write_array(const FlowOperand& target, Origin origin, std::int32_t pc) {
  const ArrayId id = flow_.array_of(target);
  const ArrayKind kind = p_.module.arrays[id.at()].kind;
  if (is_remote(kind)) return;
  const bool present = in_pardo_ && lasts(id);
  const auto found = arrays_.find(id);
  if (!present && origin.clean() &&
      (found == arrays_.end() || (found->second.all.clean() && found->second.blocks.empty())))
    return;
  ArrayOrigin& array = arrays_[id];
  if (present) {
    origin.wrote = true;
    origin.shares = {present_share({Variable::Kind::array, id.number()}, pc)};
  }
  if (target.kind != Kind::block || kind == ArrayKind::contiguous_local) {
    if (target.kind == Kind::array && !target.keeps) array = {};
    array.all.join(origin);
    for (auto& [block, one] : array.blocks) one.join(origin);
    if (origin.wrote) array.wrote.insert(whole_array);
    return;
  }
  const std::uint64_t block = p_.block_of(target.id);
  if (origin.wrote) array.wrote.insert(block);
  else if (!target.keeps) array.wrote.erase(block);
  const auto [one, fresh] = array.blocks.try_emplace(block, array.all);
  if (target.keeps && !present) one->second.join(origin);
  else one->second = std::move(origin);
  if (one->second.clean() && array.all.clean()) array.blocks.erase(one);
}

// --- pardos

/// A target that lasts longer than the iteration gets a value that depends on what earlier pardos left, other than by
/// adding to it.
void RankCheck::use_in_pardo(std::int32_t pc, const FlowOperand& target, const Origin& origin) {
  Variable v;
  const ArrayId array = flow_.array_of(target);
  if (origin.own || !flow_.variable_of(target, v)) return;
  if (array != no_array && !lasts(array) && !is_remote(p_.module.arrays[array.at()].kind)) return;
  for (const PardoShare& share : origin.shares)
    if (share.pardo < pardo_ && share.through != v) record_use(pc, share);
}

void RankCheck::record_use(std::int32_t pc, const PardoShare& share) {
  const std::int32_t begin = p_.module.loops[static_cast<std::size_t>(loop_)].begin;
  const auto note = [&](std::uint64_t block) {
    const RankUse use{pardo_, begin, pc, share.through, block, share};
    if (log_.uses.size() < max_events && used_.insert(key_of(use)).second) log_.uses.push_back(use);
  };
  if (share.through.kind != Variable::Kind::array) return note(0);
  for (const std::uint64_t block : read_[share.through.array()]) note(block);
}

void RankCheck::begin_pardo(std::int32_t pc) {
  const std::int32_t loop = p_.module.code[static_cast<std::size_t>(pc)].a;
  const LoopRow& row = p_.module.loops[static_cast<std::size_t>(loop)];
  if (runs_everywhere(p_.module, row)) return;
  in_pardo_ = true;
  loop_ = loop;
  ++pardo_;
  began_with_.clear();
  for (const WrittenVariable& w : flow_of_loop(loop).written)
    if (w.variable.kind != Variable::Kind::array) began_with_[w.variable] = register_value(w.variable);
  Snapshot snapshot;
  snapshot.begin = row.begin;
  for (const Variable& v : flow_of_loop(loop).read) {
    if (v.kind != Variable::Kind::array) {
      const Origin& origin = origin_of_register(operand_of(v));
      if (!origin.shares.empty()) snapshot.registers[v] = {1, origin.wrote, origin.summed, 0, register_value(v), 0};
      continue;
    }
    const auto found = arrays_.find(v.array());
    if (found == arrays_.end() || !lasts(v.array()) || (found->second.all.clean() && found->second.blocks.empty()))
      continue;
    ArrayState& state = snapshot.arrays[v.array()];
    const auto& wrote = found->second.wrote;
    state.whole = {1, !wrote.empty(), 0, 0, 0, 1};
    p_.blocks(v.array(), [&](std::uint64_t block, const Content& content) {
      state.blocks[block] = {1, wrote.contains(block) || wrote.contains(whole_array), 0, 0, content.sum, content.hash};
      state.whole.value += content.sum;
      state.whole.hash += mix_hash(content.hash, block);  // in any order
    });
    state.whole.hash |= 1;
  }
  if ((!snapshot.registers.empty() || !snapshot.arrays.empty()) && snapshots_.size() < max_snapshots)
    snapshots_[pardo_] = std::move(snapshot);
}

/// Variables that a pardo may have written differ between the ranks from here on, also where they had no iteration.
void RankCheck::end_pardo() {
  for (const WrittenVariable& w : flow_of_loop(loop_).written) {
    if (w.variable.kind != Variable::Kind::array) {
      Origin& origin = origin_of_register(operand_of(w.variable));
      origin.shares = {present_share(w.variable, w.pc)};
      if (register_value(w.variable) == began_with_[w.variable])
        origin.summed = false;  // nothing was added, or only zeros
    } else if (lasts(w.variable.array())) {
      ArrayOrigin& array = arrays_[w.variable.array()];
      for (const auto& [block, one] : array.blocks) array.all.own |= one.own;
      array.blocks.clear();
      array.all.shares = {present_share(w.variable, w.pc)};
    }
  }
  in_pardo_ = false;
  loop_ = -1;
  read_.clear();
}

// --- what all ranks come to

void RankCheck::log(RankEvent event, const Origin& origin) {
  event.own = origin.own || control().own;
  event.summed = origin.summed;
  if (!origin.shares.empty()) event.share = origin.shares.front();
  if (log_.events.size() < max_events) log_.events.push_back(event);
}

void RankCheck::branch(std::int32_t pc, std::int32_t condition, std::int32_t end, std::size_t calls) {
  const Origin origin = ints_[static_cast<std::size_t>(condition)];
  if (origin.clean()) return;
  const Compare& compared = compared_[static_cast<std::size_t>(condition)];
  const auto [seen, fresh] = seen_.try_emplace(pc, false);
  if (fresh) seen->second = flow_.seen_by_others(pc + 1, end);
  RankEvent event;
  event.kind = RankEvent::Kind::condition;
  event.pc = pc;
  event.compare = compared.pc;
  event.holds = p_.ints[static_cast<std::size_t>(condition)] != 0;
  event.matters = seen->second;
  event.left = compared.left;
  event.right = compared.right;
  log(event, origin);
  for (const WrittenVariable& w : flow_.written(pc + 1, end)) {  // also where the branch is not taken
    if (w.variable.kind != Variable::Kind::array) origin_of_register(operand_of(w.variable)).join(origin);
    else if (lasts(w.variable.array())) write_array({Kind::array, w.variable.id, true}, origin, w.pc);
  }
  if (end > pc + 1) branches_.push_back({pc + 1, end, calls, origin});
}

void RankCheck::print(std::int32_t pc, const FlowOperand& operand) {
  if (in_pardo_ || p_.all_print()) return;
  const Origin origin = origin_of(operand);
  if (origin.shares.empty()) return;
  RankEvent event;
  event.pc = pc;
  if (flow_.array_of(operand) != no_array) {
    const Content content = p_.content(operand);
    event.left = content.sum;
    event.hash = content.hash;
  } else {
    const auto i = static_cast<std::size_t>(operand.id);
    event.left = operand.kind == Kind::integer ? p_.ints[i] : p_.scalars[i];
  }
  log(event, origin);
}

void RankCheck::saved(std::int32_t pc, const Variable& variable) {
  if (in_pardo_) end_pardo();
  const FlowOperand operand = operand_of(variable);
  const Origin origin = origin_of(operand);
  if (origin.shares.empty()) return;
  RankEvent event;
  event.kind = RankEvent::Kind::saved;
  event.pc = pc;
  if (variable.kind == Variable::Kind::array) {
    const Content content = p_.content(operand);
    event.left = content.sum;
    event.hash = content.hash;
  } else {
    event.left = register_value(variable);
  }
  log(event, origin);
}

}  // namespace sial
