#include "runtime/core/interp/rank_check/divergence.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/core/bytecode/calls.h"
#include "runtime/core/bytecode/layout.h"

namespace sial {
namespace {

using Kind = FlowOperand::Kind;

constexpr std::uint8_t divergent = ValueAcrossRanks::share | ValueAcrossRanks::numbered | ValueAcrossRanks::number;

template <class T>
auto& at(T& container, std::int32_t i) {
  return container[static_cast<std::size_t>(i)];
}

bool is_divergent(std::uint8_t origin) { return (origin & divergent) != 0; }
bool is_surely_divergent(std::uint8_t origin) {
  return is_divergent(origin) && (origin & ValueAcrossRanks::uniform) == 0;
}

}  // namespace

Divergence::Divergence(const Module& module)
    : m_(module),
      flow_(module),
      n_ints_(static_cast<std::size_t>(module.n_int_registers)),
      n_scalars_(static_cast<std::size_t>(module.n_scalar_registers)),
      gone_(module.loops.size()),
      fills_(module.loops.size()),
      inside_(module.code.size()),
      origins_(module.code.size()),
      uses_(module.code.size()) {
  find_pardos();
  find_splits();
  for (std::int32_t pc = 0; pc < std::ssize(module.code); ++pc) {
    accesses_.push_back(access_of(pc));
    successors_.push_back(successors_of(pc));
  }
  find_temps();
  find_fills();
  find_origins();
  find_uses();
}

std::vector<ValueAcrossRanks> Divergence::at(std::int32_t pc) const {
  std::vector<ValueAcrossRanks> values(variables());
  const State& origins = sial::at(origins_, pc);
  const State& uses = sial::at(uses_, pc);
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (!origins.empty()) values[v].origin = origins[v];
    if (!uses.empty()) values[v].use = uses[v];
  }
  return values;
}

std::int32_t Divergence::reader(std::size_t variable, std::int32_t pc) const {
  const auto n = static_cast<std::int32_t>(accesses_.size());
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t at = (pc + i) % n;
    const std::vector<std::size_t>& reads = sial::at(accesses_, at).reads;
    if (std::find(reads.begin(), reads.end(), variable) != reads.end() && !is_linear(at)) return at;
  }
  return -1;
}

std::vector<std::size_t> Divergence::variables_of(const FlowOperand& operand, std::int32_t pc) const {
  if (operand.kind == Kind::integer) return {of_int(static_cast<std::size_t>(operand.id))};
  if (operand.kind == Kind::scalar) return {of_scalar(static_cast<std::size_t>(operand.id))};
  const ArrayId array = flow_.array_of(operand);
  const Split* split = split_of(array);
  if (!split) return {of_array(array)};
  if (operand.kind == Kind::block &&
      std::ranges::includes(conditions_of(pc, sial::at(m_.refs, operand.id)), split->inside))
    return {of_array(array)};
  return {of_array(array), of_rest(array)};
}

/// The where clauses of a loop that compare an index of the block with a number or with an int that the loop leaves as
/// it is. False: it has others.
bool Divergence::add_conditions(const LoopRow& loop, const RefRow& ref, Conditions& to) const {
  std::int32_t known = 0;
  for (std::int32_t pc = loop.begin + 1; pc < loop.body; ++pc) {
    if (sial::at(m_.code, pc).op != Opcode::where || pc - 2 <= loop.begin) continue;
    const Instruction &where = sial::at(m_.code, pc), &compare = sial::at(m_.code, pc - 1);
    const Instruction& before = sial::at(m_.code, pc - 2);
    if (compare.op != Opcode::int_compare || compare.a != where.a) continue;
    const bool constant = before.op == Opcode::int_const && before.a == compare.c;
    const Instruction& index = constant ? sial::at(m_.code, pc - 3) : before;
    if (index.op != Opcode::int_index || index.a != compare.b) continue;
    if (!constant) {
      if (compare.c >= std::ssize(m_.ints)) continue;
      const std::vector<WrittenVariable> written = flow_.written(loop.begin, loop.end);
      if (std::ranges::any_of(written, [&](const WrittenVariable& w) {
            return w.variable == Variable{Variable::Kind::integer, compare.c};
          }))
        continue;
    }
    bool of_block = false;
    for (std::size_t d = 0; d < ref.entries.size(); ++d)
      if (ref.entries[d].index == IndexId(index.b) && !ref.entries[d].as_simple) {
        to.insert({d, compare.d, constant, constant ? before.b : compare.c});
        of_block = true;
      }
    known += of_block ? 1 : 0;
  }
  return known == loop.n_wheres;
}

Divergence::Conditions Divergence::conditions_of(std::int32_t pc, const RefRow& ref) const {
  Conditions conditions;
  for (const LoopRow& loop : m_.loops)
    if (loop.begin < pc && pc <= loop.next) add_conditions(loop, ref, conditions);
  return conditions;
}

/// Finds what all writes of pardos to an array have in common.
void Divergence::find_splits() {
  for (std::size_t a = 0; a < m_.arrays.size(); ++a) {
    if (m_.arrays[a].kind != ArrayKind::static_) continue;
    bool first = true;
    Split split{ArrayId(a), {}};
    for (std::int32_t pc = 0; pc < std::ssize(m_.code); ++pc) {
      if (sial::at(inside_, pc) == 0) continue;
      for (const FlowOperand& target : flow_.at(pc).targets) {
        if (flow_.array_of(target) != split.array) continue;
        const Conditions here =
            target.kind == Kind::block ? conditions_of(pc, sial::at(m_.refs, target.id)) : Conditions();
        if (first) split.inside = here;
        else std::erase_if(split.inside, [&](const Condition& c) { return !here.contains(c); });
        first = false;
      }
    }
    if (!split.inside.empty()) splits_.push_back(std::move(split));
  }
}

/// An int of the where clauses changes: blocks go from one variable of the array to the other.
void Divergence::mix_splits(const Access& access, State& state) const {
  for (const Write& w : access.writes) {
    if (w.variable >= n_ints_) continue;
    for (const Split& split : splits_)
      if (std::ranges::any_of(split.inside, [&](const Condition& c) {
            return !c.constant && of_int(static_cast<std::size_t>(c.value)) == w.variable;
          })) {
        std::uint8_t &inside = state[of_array(split.array)], &rest = state[of_rest(split.array)];
        inside = rest = static_cast<std::uint8_t>(inside | rest);
      }
  }
}

Divergence::Access Divergence::access_of(std::int32_t pc) const {
  Access access;
  const Instruction& in = sial::at(m_.code, pc);
  const OpcodeInfo& info = *opcode_info(in.op);
  const auto operands = operands_of(in);
  const Flow& flow = flow_.at(pc);
  access.numbered = flow.own_value;
  // Blocks of remote arrays are those of all ranks.
  const auto is_remote_array = [this](const FlowOperand& o) {
    const ArrayId array = flow_.array_of(o);
    return array != no_array && is_remote(m_.arrays[array.at()].kind);
  };
  for (const FlowOperand& target : flow.targets)
    if (!is_remote_array(target))
      for (const std::size_t variable : variables_of(target, pc))
        access.writes.push_back({variable, target.keeps || target.kind == Kind::block || target.kind == Kind::region});
  for (const FlowOperand& source : flow.sources)
    if (!is_remote_array(source) && (flow_.array_of(source) != no_array || info.op_class == OpClass::execute))
      std::ranges::copy(variables_of(source, pc), std::back_inserter(access.reads));
  for (const auto& [target, keeps] : access.writes)
    if (keeps && target < n_ints_ + n_scalars_ && in.op != Opcode::collective_sum) access.reads.push_back(target);
  // Registers of all instructions, each as often as it is an operand, and bounds of regions.
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (info.operands[i] == OperandKind::iin) access.reads.push_back(of_int(static_cast<std::size_t>(operands[i])));
    if (info.operands[i] == OperandKind::sin && in.op != Opcode::collective_sum)
      access.reads.push_back(of_scalar(static_cast<std::size_t>(operands[i])));
    if (info.operands[i] == OperandKind::region)
      for (const auto& bounds : {sial::at(m_.regions, operands[i]).lo, sial::at(m_.regions, operands[i]).hi})
        for (const std::int32_t reg : bounds) access.reads.push_back(of_int(static_cast<std::size_t>(reg)));
  }
  if (adds_to_remote(in)) access.summed = std::exchange(access.reads, {});
  switch (in.op) {
    case Opcode::allocate:
    case Opcode::deallocate:
      if (const RefRow& ref = sial::at(m_.refs, in.a);
          std::ranges::all_of(ref.entries, [](const RefEntry& entry) { return entry.index == no_index; }))
        for (const std::size_t variable : {of_array(ref.array), of_rest(ref.array)})
          access.writes.push_back({variable, false});
      break;
    case Opcode::collective_sum: access.summed = {of_scalar(static_cast<std::size_t>(in.b))}; break;
    case Opcode::assert_same: access.reads.push_back(of_scalar(static_cast<std::size_t>(in.a))); break;
    case Opcode::broadcast: access.broadcast = {of_array(ArrayId(in.b)), of_rest(ArrayId(in.b))}; break;
    case Opcode::real_copy:
    case Opcode::real_neg:
    case Opcode::real_add:
    case Opcode::real_sub: access.linear = Linear::sum; break;
    case Opcode::real_mul: access.linear = Linear::product; break;
    case Opcode::real_div: access.linear = Linear::quotient; break;
    case Opcode::halt:
      // Values under labels are taken when the program ends.
      for (const Instruction& i : m_.code) {
        if (i.op != Opcode::set_persistent) continue;
        if (i.a == 0) access.reads.push_back(of_scalar(static_cast<std::size_t>(i.b)));
        else access.reads.insert(access.reads.end(), {of_array(ArrayId(i.b)), of_rest(ArrayId(i.b))});
      }
      break;
    default: break;
  }
  return access;
}

std::vector<std::int32_t> Divergence::successors_of(std::int32_t pc) const {
  const Instruction& in = sial::at(m_.code, pc);
  const auto loop = [this](std::int32_t id) -> const LoopRow& { return sial::at(m_.loops, id); };
  switch (in.op) {
    case Opcode::halt:
    case Opcode::stop: return {};
    case Opcode::jump: return {in.a};
    case Opcode::jump_unless: return {pc + 1, in.b};
    case Opcode::call: return {sial::at(m_.procs, in.a).entry};
    case Opcode::ret: {
      std::vector<std::int32_t> to;
      for (std::size_t p = 0; p < m_.procs.size(); ++p) {
        if (pc < m_.procs[p].entry || pc >= m_.procs[p].end) continue;
        for (std::int32_t at = 0; at < std::ssize(m_.code); ++at)
          if (const Instruction& i = sial::at(m_.code, at); i.op == Opcode::call && static_cast<std::size_t>(i.a) == p)
            to.push_back(at + 1);
      }
      return to;
    }
    case Opcode::do_begin:
    case Opcode::sub_begin:
    case Opcode::pardo_begin: return {pc + 1, loop(in.a).end};
    case Opcode::do_next:
    case Opcode::sub_next:
    case Opcode::pardo_next: return {loop(in.a).begin + 1, loop(in.a).end};
    case Opcode::where: return {pc + 1, loop(in.b).next};
    case Opcode::exit_loop: return {loop(in.a).end};
    default: return {pc + 1};
  }
}

bool Divergence::enter(std::int32_t from, std::int32_t to, std::uint8_t origin) {
  bool changed = false;
  for_each_with_calls(m_, from, to, [&](std::int32_t pc, const Instruction&, bool called) {
    std::uint8_t& inside = sial::at(inside_, pc);
    const auto now = static_cast<std::uint8_t>(inside | origin | (called ? ValueAcrossRanks::uniform : 0));
    changed |= now != inside;
    inside = now;
  });
  return changed;
}

/// A procedure that is called in pardos only is always carried out by some ranks.
void Divergence::find_pardos() {
  std::vector<bool> in_pardo(m_.code.size()), also_outside(m_.code.size());
  for (const LoopRow& loop : m_.loops)
    if (loop.kind == LoopKind::pardo)
      for_each_with_calls(m_, loop.begin + 1, loop.end, [&](std::int32_t pc, const Instruction&, bool) {
        in_pardo[static_cast<std::size_t>(pc)] = true;
      });
  // From the main body on, without entering pardos.
  std::vector<bool> seen(m_.procs.size());
  const auto follow = [&](auto&& self, std::int32_t from, std::int32_t to) -> void {
    for (std::int32_t pc = from; pc < to; ++pc) {
      also_outside[static_cast<std::size_t>(pc)] = true;
      const Instruction& in = sial::at(m_.code, pc);
      if (in.op == Opcode::pardo_begin) pc = sial::at(m_.loops, in.a).end - 1;
      if (in.op != Opcode::call || seen[static_cast<std::size_t>(in.a)]) continue;
      seen[static_cast<std::size_t>(in.a)] = true;
      self(self, sial::at(m_.procs, in.a).entry, sial::at(m_.procs, in.a).end);
    }
  };
  std::int32_t end = m_.main_entry;
  while (sial::at(m_.code, end).op != Opcode::halt) ++end;
  follow(follow, m_.main_entry, end + 1);
  for (std::size_t pc = 0; pc < m_.code.size(); ++pc)
    if (in_pardo[pc])
      inside_[pc] =
          static_cast<std::uint8_t>(ValueAcrossRanks::share | (also_outside[pc] ? ValueAcrossRanks::uniform : 0));
}

/// A temp that is written in a pardo is gone after it, unless it was written before in a loop around the pardo, or
/// outside all loops.
void Divergence::find_temps() {
  for (std::size_t a = 0; a < m_.arrays.size(); ++a) {
    if (m_.arrays[a].kind != ArrayKind::temp) continue;
    const std::size_t temp = of_array(ArrayId(a));
    std::vector<bool> exists(m_.code.size());
    std::set<std::pair<std::int32_t, std::int32_t>> scopes;
    const auto add_scope = [&](auto&& self, std::int32_t pc) -> void {
      std::pair<std::int32_t, std::int32_t> scope{0, static_cast<std::int32_t>(m_.code.size())};
      bool in_loop = false;
      for (const LoopRow& loop : m_.loops)
        if (loop.kind != LoopKind::pardo && loop.begin < pc && pc <= loop.next && loop.begin >= scope.first) {
          scope = {loop.begin, loop.end};
          in_loop = true;
        }
      const auto proc = std::find_if(m_.procs.begin(), m_.procs.end(),
                                     [pc](const ProcRow& p) { return p.entry <= pc && pc < p.end; });
      if (in_loop || proc == m_.procs.end()) {
        if (scopes.insert(scope).second)
          for_each_with_calls(m_, scope.first, scope.second, [&](std::int32_t at, const Instruction&, bool) {
            exists[static_cast<std::size_t>(at)] = true;
          });
        return;
      }
      for (std::int32_t at = 0; at < std::ssize(m_.code); ++at)
        if (const Instruction& in = sial::at(m_.code, at); in.op == Opcode::call && in.a == proc - m_.procs.begin())
          self(self, at);
    };
    for (std::int32_t pc = 0; pc < std::ssize(m_.code); ++pc) {
      const std::uint8_t inside = sial::at(inside_, pc);
      if (inside != 0 && (inside & ValueAcrossRanks::uniform) == 0) continue;
      const std::vector<Write>& writes = sial::at(accesses_, pc).writes;
      if (std::any_of(writes.begin(), writes.end(), [temp](const Write& w) { return w.variable == temp; }))
        add_scope(add_scope, pc);
    }
    for (std::size_t l = 0; l < m_.loops.size(); ++l)
      if (m_.loops[l].kind == LoopKind::pardo && !exists[static_cast<std::size_t>(m_.loops[l].begin)])
        gone_[l].push_back(temp);
  }
}

/// In each iteration of the loop and of those between that their where clauses admit.
bool Divergence::always_runs(std::int32_t pc, const LoopRow& loop) const {
  for (std::int32_t at = loop.begin + 1; at <= loop.next; ++at) {
    const Instruction& in = sial::at(m_.code, at);
    switch (in.op) {
      case Opcode::exit_loop:
      case Opcode::ret: return false;
      case Opcode::jump:
        if (at < pc && in.a > pc) return false;
        break;
      case Opcode::jump_unless:
        if (at < pc && in.b > pc) return false;
        break;
      default: break;
    }
  }
  return true;
}

/// Whether the instruction names the array by this block alone, or not at all.
bool Divergence::only_this_block(std::int32_t pc, ArrayId array, const RefRow& ref) const {
  const auto is_this = [&](const FlowOperand& o) {
    return flow_.array_of(o) != array || (o.kind == Kind::block && sial::at(m_.refs, o.id).entries == ref.entries);
  };
  return std::ranges::all_of(flow_.at(pc).targets, is_this) && std::ranges::all_of(flow_.at(pc).sources, is_this);
}

/// Loops over the indices with which a static array is declared, and a statement in them that replaces the block.
void Divergence::find_fills() {
  for (std::int32_t pc = 0; pc < std::ssize(m_.code); ++pc) {
    const Instruction& in = sial::at(m_.code, pc);
    const OpcodeInfo& info = *opcode_info(in.op);
    if (info.op_class != OpClass::block || info.operands[0] != OperandKind::ref || sial::at(inside_, pc) != 0 ||
        operand_intent(in, 0) != Intent::write)
      continue;
    const RefRow& ref = sial::at(m_.refs, in.a);
    const ArrayRow& array = m_.arrays[ref.array.at()];
    if (array.kind != ArrayKind::static_ || is_partial(m_, ref)) continue;
    std::set<IndexId> indices;
    for (std::size_t d = 0; d < array.dims.size(); ++d)
      if (ref.entries[d].index == array.dims[d] && !ref.entries[d].as_simple) indices.insert(array.dims[d]);
    if (indices.size() != array.dims.size()) continue;
    // From the innermost loop outwards, as long as they are over these indices.
    Conditions conditions;
    for (;;) {
      const LoopRow* inner = nullptr;
      for (const LoopRow& loop : m_.loops)
        if (loop.kind == LoopKind::do_ && loop.begin < pc && pc <= loop.next && indices.contains(loop.indices[0]) &&
            (!inner || loop.begin > inner->begin))
          inner = &loop;
      if (!inner || !always_runs(pc, *inner) || !add_conditions(*inner, ref, conditions)) break;
      indices.erase(inner->indices[0]);
      if (!indices.empty()) continue;
      // No other loop stands between them.
      const auto n = static_cast<std::size_t>(std::count_if(m_.loops.begin(), m_.loops.end(), [&](const LoopRow& loop) {
        return inner->begin <= loop.begin && loop.begin < pc && pc <= loop.next;
      }));
      const Split* split = split_of(ref.array);
      if (n != array.dims.size()) break;
      if (conditions.empty() || (split && std::ranges::includes(split->inside, conditions)))
        add_fill(*inner, pc, ref, of_array(ref.array));
      if (conditions.empty() && split) add_fill(*inner, pc, ref, of_rest(ref.array));
      break;
    }
  }
}

/// After the statement the loop may change the block that it has written, and read it: what it had held before does
/// not matter.
void Divergence::add_fill(const LoopRow& outer, std::int32_t pc, const RefRow& ref, std::size_t variable) {
  bool only_these = true;
  Fill fill{variable, {pc}, false};
  for_each_with_calls(m_, outer.begin + 1, outer.end, [&](std::int32_t at, const Instruction&, bool called) {
    const Access& access = sial::at(accesses_, at);
    const bool this_block = at > pc && !called && only_this_block(at, ref.array, ref);
    if (at != pc && std::any_of(access.writes.begin(), access.writes.end(),
                                [&](const Write& w) { return w.variable == variable; })) {
      fill.pcs.push_back(at);
      only_these = only_these && this_block;
    }
    for (const auto* reads : {&access.reads, &access.summed, &access.broadcast})
      fill.read = fill.read || (!this_block && std::ranges::find(*reads, variable) != reads->end());
  });
  if (!only_these) return;
  if (!fill.read) replaces_.insert({pc, variable});
  fills_[static_cast<std::size_t>(&outer - m_.loops.data())].push_back(std::move(fill));
}

void Divergence::leave_loop(std::int32_t pc, std::int32_t next, State& state) const {
  for (std::size_t l = 0; l < m_.loops.size(); ++l) {
    const LoopRow& loop = m_.loops[l];
    if (loop.end != next || pc < loop.begin || pc > loop.next) continue;
    for (const std::size_t temp : gone_[l]) state[temp] = ValueAcrossRanks::uniform;
    for (const Fill& fill : fills_[l]) {
      // Before any path has come there nothing is known of what it writes: it adds nothing.
      std::uint8_t written = 0;
      bool sure = false;
      for (const std::int32_t at : fill.pcs) {
        const State& there = sial::at(origins_, at);
        const std::uint8_t here = there.empty() ? 0 : origin_written(at, there);
        sure = sure || is_surely_divergent(here);
        written |= here;
      }
      state[fill.array] = sure ? written & divergent : written;
    }
  }
}

void Divergence::mark_written(State& state, std::int32_t from, std::int32_t to, std::uint8_t origin) const {
  for_each_with_calls(m_, from, to, [&](std::int32_t pc, const Instruction&, bool) {
    for (const Write& w : sial::at(accesses_, pc).writes) {
      std::uint8_t& value = state[w.variable];
      if ((origin & ValueAcrossRanks::uniform) == 0)
        value = static_cast<std::uint8_t>(value & ~ValueAcrossRanks::uniform);
      value = static_cast<std::uint8_t>(value | origin);
    }
  });
}

/// From the state before the instruction to that after it. True where more code turned out to be carried out by some
/// ranks only.
bool Divergence::pass_forward(std::int32_t pc, State& state) {
  const Instruction& in = sial::at(m_.code, pc);
  const Access& access = sial::at(accesses_, pc);
  bool changed = false;
  if (in.op == Opcode::pardo_begin) {
    const LoopRow& loop = sial::at(m_.loops, in.a);
    mark_written(state, loop.begin + 1, loop.end, ValueAcrossRanks::share);
  }
  if (in.op == Opcode::jump_unless && sial::at(inside_, pc) == 0) {
    const std::uint8_t condition = state[of_int(static_cast<std::size_t>(in.a))];  // never a number itself: compared
    if (is_divergent(condition)) {
      mark_written(state, pc + 1, flow_.end_of_branch(pc), condition);
      changed = enter(pc + 1, flow_.end_of_branch(pc), condition);
    }
  }
  const std::uint8_t inside = sial::at(inside_, pc), written = origin_written(pc, state);
  for (const Write& w : access.writes) {
    std::uint8_t& value = state[w.variable];
    if (inside == 0 && (!w.keeps || replaces_.contains({pc, w.variable}))) {
      value = written;
      continue;
    }
    const bool sure = is_surely_divergent(value) || is_surely_divergent(written);
    const auto both = static_cast<std::uint8_t>(value | written);
    value = sure ? both & divergent : both;
  }
  mix_splits(access, state);
  return changed;
}

bool Divergence::is_rank_number(std::int32_t pc) const {
  const Instruction& in = sial::at(m_.code, pc);
  return in.op == Opcode::execute && sial::at(m_.specials, in.a).name == "get_my_rank";
}

/// Zero, or made of nothing but zeros.
bool Divergence::writes_zero(std::int32_t pc, const State& state) const {
  const Instruction& in = sial::at(m_.code, pc);
  if (in.op == Opcode::real_const) return sial::at(m_.reals, in.b) == 0.0;
  const Access& access = sial::at(accesses_, pc);
  const bool linear = access.linear == Linear::sum || access.linear == Linear::product || in.op == Opcode::block_fill;
  return linear && !access.reads.empty() &&
         std::ranges::all_of(access.reads, [&](std::size_t v) { return state[v] == 0; });
}

std::uint8_t Divergence::origin_written(std::int32_t pc, const State& state) const {
  const Access& access = sial::at(accesses_, pc);
  const std::uint8_t inside = sial::at(inside_, pc);
  if (inside == 0 && writes_zero(pc, state)) return 0;
  std::uint8_t origin = inside & divergent;
  bool surely = inside != 0 && (inside & ValueAcrossRanks::uniform) == 0;
  if (access.numbered) {
    origin |= is_rank_number(pc) && inside == 0 ? ValueAcrossRanks::number : ValueAcrossRanks::numbered;
    surely = true;
  }
  // A value that ranks agree on is uniform, whatever it was made of; but the sum of a uniform one tells their number.
  const Instruction& in = sial::at(m_.code, pc);
  if (in.op == Opcode::collective_sum &&
      state[of_scalar(static_cast<std::size_t>(in.b))] == ValueAcrossRanks::uniform) {
    origin |= ValueAcrossRanks::numbered;
    surely = true;
  }
  if (op_class(in.op) != OpClass::sync) {
    for (const std::size_t v : access.reads) {
      origin = static_cast<std::uint8_t>(origin | (state[v] & (ValueAcrossRanks::share | ValueAcrossRanks::numbered)));
      if ((state[v] & ValueAcrossRanks::number) != 0) origin |= ValueAcrossRanks::numbered;
      surely = surely || is_surely_divergent(state[v]);
    }
  }
  return static_cast<std::uint8_t>(origin | (surely ? 0 : ValueAcrossRanks::uniform));
}

void Divergence::find_origins() {
  State& first = sial::at(origins_, m_.main_entry);
  first.assign(variables(), ValueAcrossRanks::uniform);
  for (std::size_t s = 0; s < m_.scalars.size(); ++s)
    if (!m_.scalars[s].predefined && m_.scalars[s].initial == 0.0) first[of_scalar(s)] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::int32_t pc = 0; pc < std::ssize(m_.code); ++pc) {
      if (sial::at(origins_, pc).empty()) continue;
      State state = sial::at(origins_, pc);
      changed |= pass_forward(pc, state);
      for (const std::int32_t next : sial::at(successors_, pc)) {
        State& there = sial::at(origins_, next);
        if (there.empty()) there.assign(variables(), 0);
        State left = state;
        leave_loop(pc, next, left);
        for (std::size_t v = 0; v < there.size(); ++v) {
          const auto joined = static_cast<std::uint8_t>(there[v] | left[v]);
          changed |= joined != there[v];
          there[v] = joined;
        }
      }
    }
  }
}

bool Divergence::is_linear(std::int32_t pc) const {
  const Access& access = sial::at(accesses_, pc);
  const State& origins = sial::at(origins_, pc);
  if (access.linear == Linear::no || origins.empty()) return false;
  const auto n =
      std::count_if(access.reads.begin(), access.reads.end(), [&](std::size_t v) { return is_divergent(origins[v]); });
  switch (access.linear) {
    case Linear::product: return n <= 1;
    case Linear::quotient:
      return n == 0 || (n == 1 && is_divergent(origins[of_scalar(static_cast<std::size_t>(sial::at(m_.code, pc).b))]));
    default: return true;
  }
}

/// From what is used after the instruction to what is used before it.
void Divergence::pass_backward(std::int32_t pc, State& use) const {
  const Access& access = sial::at(accesses_, pc);
  std::uint8_t of_result = 0;
  mix_splits(access, use);
  for (const Write& w : access.writes) {
    of_result = static_cast<std::uint8_t>(of_result | use[w.variable]);
    if (!w.keeps) use[w.variable] = 0;
  }
  const std::uint8_t of_operands = is_linear(pc) ? of_result : ValueAcrossRanks::read;
  for (const std::size_t v : access.reads) use[v] = static_cast<std::uint8_t>(use[v] | of_operands);
  // Only what all ranks carry out adds up the values of all of them.
  const bool by_all = sial::at(inside_, pc) == 0;
  for (const std::size_t v : access.summed) use[v] |= by_all ? ValueAcrossRanks::summed : ValueAcrossRanks::read;
  for (const std::size_t v : access.broadcast) use[v] |= ValueAcrossRanks::broadcast;
}

void Divergence::find_uses() {
  for (State& use : uses_) use.assign(variables(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto pc = static_cast<std::int32_t>(m_.code.size()); pc-- > 0;) {
      State use(variables(), 0);
      for (const std::int32_t next : sial::at(successors_, pc))
        for (std::size_t v = 0; v < use.size(); ++v) use[v] |= sial::at(uses_, next)[v];
      pass_backward(pc, use);
      if (sial::at(m_.code, pc).op == Opcode::do_begin)
        for (const Fill& fill : sial::at(fills_, sial::at(m_.code, pc).a))
          if (!fill.read) use[fill.array] = 0;
      changed |= use != sial::at(uses_, pc);
      sial::at(uses_, pc) = std::move(use);
    }
  }
}

}  // namespace sial
