#include "runtime/interp/rank_flow.h"

#include <algorithm>

#include "runtime/bytecode/calls.h"
#include "runtime/bytecode/layout.h"
#include "runtime/super/registry.h"

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
    const Intent intent = letter_intent(static_cast<std::size_t>(i) < special.signature.size() ? special.signature[static_cast<std::size_t>(i)] : 'r');
    const bool part = operand.kind == Kind::region || (operand.kind == Kind::block && is_partial(m, m.refs[static_cast<std::size_t>(arg.id)]));
    operand.keeps = part || intent == Intent::update;
    (intent == Intent::read ? flow.sources : flow.targets).push_back(operand);
  }
  return flow;
}

Flow flow_of(const Module& m, const Instruction& in) {
  Flow flow;
  switch (in.op) {
    // No values flow: existence of blocks, hints, what is looked at elsewhere.
    case Opcode::allocate: case Opcode::deallocate: case Opcode::allocate_region: case Opcode::deallocate_region: case Opcode::erase_array:
    case Opcode::get: case Opcode::free_block: case Opcode::keep_block: case Opcode::expect: case Opcode::fused: case Opcode::keep_copies:
    case Opcode::gpu_allocate: case Opcode::gpu_free: case Opcode::gpu_put: case Opcode::gpu_get: case Opcode::set_persistent: return flow;
    case Opcode::execute: return flow_of_execute(m, in);
    case Opcode::collective_sum: flow.targets.push_back({Kind::scalar, in.a, true}); return flow;
    case Opcode::assert_same: flow.targets.push_back({Kind::scalar, in.a, false}); return flow;
    case Opcode::broadcast: flow.targets.push_back({Kind::array, in.b, false}); return flow;
    case Opcode::restore_persistent: flow.targets.push_back({in.a == 0 ? Kind::scalar : Kind::array, in.b, false}); return flow;
    default: break;
  }
  const OpcodeInfo& info = *opcode_info(in.op);
  const auto operands = operands_of(in);
  for (int i = 0; i < 4; ++i) {
    const std::int32_t id = operands[static_cast<std::size_t>(i)];
    switch (info.operands[static_cast<std::size_t>(i)]) {
      case OperandKind::iin: flow.sources.push_back({Kind::integer, id, false}); break;
      case OperandKind::sin: flow.sources.push_back({Kind::scalar, id, false}); break;
      case OperandKind::iout: flow.targets.push_back({Kind::integer, id, false}); break;
      case OperandKind::sout: flow.targets.push_back({Kind::scalar, id, false}); break;
      case OperandKind::array: flow.sources.push_back({Kind::array, id, false}); break;
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

std::int32_t RankFlow::array_of(const FlowOperand& operand) const {
  switch (operand.kind) {
    case Kind::block: return m_.refs[static_cast<std::size_t>(operand.id)].array;
    case Kind::region: return m_.regions[static_cast<std::size_t>(operand.id)].array;
    case Kind::array: return operand.id;
    default: return -1;
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
    default: variable = {Variable::Kind::array, array_of(operand)}; return true;
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
    switch (in.op) {
      case Opcode::exit_loop: case Opcode::ret: return !called;
      case Opcode::halt: case Opcode::stop: case Opcode::barrier: case Opcode::section_begin: case Opcode::section_end: case Opcode::pardo_begin:
      case Opcode::collective_sum: case Opcode::assert_same: case Opcode::broadcast: case Opcode::set_persistent: case Opcode::restore_persistent:
      case Opcode::erase_array: case Opcode::print_string: case Opcode::print_scalar: case Opcode::print_int: case Opcode::print_index:
      case Opcode::print_block: case Opcode::print_region: case Opcode::print_array: case Opcode::inspect_block: case Opcode::inspect_region:
      case Opcode::inspect_array: case Opcode::elements_block: case Opcode::elements_region: case Opcode::elements_array: case Opcode::put_share: case Opcode::put_shared: return true;
      case Opcode::put_block:
      case Opcode::put_scalar: return static_cast<SetOp>(in.c) != SetOp::add && static_cast<SetOp>(in.c) != SetOp::subtract;
      default: return false;
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
