#include "runtime/core/interp/rank_check/rank_flow.h"

#include <algorithm>

#include "runtime/core/bytecode/calls.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/super/registry.h"

namespace sial {
namespace {

using Kind = FlowOperand::Kind;

Flow flow_of_execute(const Module& m, const Instruction& in) {
  Flow flow;
  const SpecialRow& special = m.specials[static_cast<std::size_t>(in.a)];
  flow.own_value = special.name == "get_my_rank" || !find_super(special.name);
  for (std::int32_t i = 0; i < in.c; ++i) {
    const ArgRow& arg = m.args[static_cast<std::size_t>(in.b + i)];
    FlowOperand operand{Kind::scalar, arg.id, false};
    switch (arg.kind) {
      case ArgKind::block: operand.kind = Kind::block; break;
      case ArgKind::region: operand.kind = Kind::region; break;
      case ArgKind::array: operand.kind = Kind::array; break;
      case ArgKind::scalar: break;
      default: continue;
    }
    const Intent intent = letter_intent(
        static_cast<std::size_t>(i) < special.signature.size() ? special.signature[static_cast<std::size_t>(i)] : 'r');
    const bool part = operand.kind == Kind::region ||
                      (operand.kind == Kind::block && is_partial(m, m.refs[static_cast<std::size_t>(arg.id)]));
    operand.keeps = part || intent == Intent::update;
    (intent == Intent::read ? flow.sources : flow.targets).push_back(operand);
  }
  return flow;
}

Flow flow_of(const Module& m, const Instruction& in) {
  Flow flow;
  const OpcodeInfo& info = *opcode_info(in.op);
  const auto operands = operands_of(in);
  // No values flow: existence of blocks, hints, what is looked at elsewhere.
  if (info.op_class == OpClass::memory || info.op_class == OpClass::fetch || info.op_class == OpClass::device ||
      info.has(op::no_data))
    return flow;
  if (info.op_class == OpClass::execute) return flow_of_execute(m, in);
  // A value that ranks agree on is nobody's own, wherever it comes from; a sum adds to what each had.
  if (info.op_class == OpClass::sync) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (info.operands[i] == OperandKind::svar)
        flow.targets.push_back({Kind::scalar, operands[i], in.op == Opcode::collective_sum});
      if (info.operands[i] == OperandKind::array) flow.targets.push_back({Kind::array, operands[i], false});
    }
    return flow;
  }
  for (int i = 0; i < 4; ++i) {
    const std::int32_t id = operands[static_cast<std::size_t>(i)];
    switch (info.operands[static_cast<std::size_t>(i)]) {
      case OperandKind::iin: flow.sources.push_back({Kind::integer, id, false}); break;
      case OperandKind::sin: flow.sources.push_back({Kind::scalar, id, false}); break;
      case OperandKind::iout: flow.targets.push_back({Kind::integer, id, false}); break;
      case OperandKind::sout: flow.targets.push_back({Kind::scalar, id, false}); break;
      case OperandKind::array: flow.sources.push_back({Kind::array, id, false}); break;
      case OperandKind::item:
        if (operand_intent(in, i) == Intent::write)
          flow.targets.push_back({in.a == 0 ? Kind::scalar : Kind::array, id, false});
        break;
      case OperandKind::ref:
      case OperandKind::region: {
        const Kind kind = info.operands[static_cast<std::size_t>(i)] == OperandKind::ref ? Kind::block : Kind::region;
        const Intent intent = operand_intent(in, i);
        const bool part = kind == Kind::region || is_partial(m, m.refs[static_cast<std::size_t>(id)]);
        (intent == Intent::read ? flow.sources : flow.targets).push_back({kind, id, part || intent == Intent::update});
        break;
      }
      default: break;
    }
  }
  return flow;
}

}  // namespace

RankFlow::RankFlow(const Module& module) : m_(module) {
  flows_.reserve(module.code.size());
  for (const Instruction& in : module.code) flows_.push_back(flow_of(module, in));
}

ArrayId RankFlow::array_of(const FlowOperand& operand) const {
  switch (operand.kind) {
    case Kind::block: return m_.refs[static_cast<std::size_t>(operand.id)].array;
    case Kind::region: return m_.regions[static_cast<std::size_t>(operand.id)].array;
    case Kind::array: return ArrayId(operand.id);
    default: return no_array;
  }
}

bool RankFlow::variable_of(const FlowOperand& operand, Variable& variable) const {
  switch (operand.kind) {
    case Kind::integer:
      variable = {Variable::Kind::integer, operand.id};
      return static_cast<std::size_t>(operand.id) < m_.ints.size();
    case Kind::scalar:
      variable = {Variable::Kind::scalar, operand.id};
      return static_cast<std::size_t>(operand.id) < m_.scalars.size();
    default: variable = {Variable::Kind::array, array_of(operand).number()}; return true;
  }
}

std::vector<WrittenVariable> RankFlow::written(std::int32_t from, std::int32_t to) const {
  std::vector<WrittenVariable> result;
  std::set<Variable> seen;
  for_each_with_calls(m_, from, to, [&](std::int32_t pc, const Instruction&, bool) {
    for (const FlowOperand& target : at(pc).targets)
      if (Variable v; variable_of(target, v) && seen.insert(v).second) result.push_back({v, pc});
  });
  return result;
}

std::set<Variable> RankFlow::read(std::int32_t from, std::int32_t to) const {
  std::set<Variable> result;
  for_each_with_calls(m_, from, to, [&](std::int32_t pc, const Instruction&, bool) {
    for (const FlowOperand& source : at(pc).sources)
      if (Variable v; variable_of(source, v)) result.insert(v);
  });
  return result;
}

bool RankFlow::seen_by_others(std::int32_t from, std::int32_t to) const {
  return any_with_calls(m_, from, to, [&](std::int32_t, const Instruction& in, bool called) {
    if (in.op == Opcode::exit_loop || in.op == Opcode::ret) return !called;
    switch (op_class(in.op)) {
      case OpClass::sync:
      case OpClass::persist:
      case OpClass::output: return true;
      case OpClass::put: return !adds_to_remote(in);
      default: return has(in.op, op::visible) || has(in.op, op::collective);
    }
  });
}

std::int32_t RankFlow::end_of_branch(std::int32_t jump) const {
  const std::int32_t target = m_.code[static_cast<std::size_t>(jump)].b;
  if (target <= jump + 1) return jump + 1;
  const Instruction& last = m_.code[static_cast<std::size_t>(target - 1)];
  return last.op == Opcode::jump && last.a > target ? last.a : target;
}

}  // namespace sial
