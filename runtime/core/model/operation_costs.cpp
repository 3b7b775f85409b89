#include "runtime/core/model/operation_costs.h"

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/super/registry.h"

namespace sial {
namespace {

// Seconds, as measured: an instruction on registers, one on blocks beside its kernel, a get of a block on this node,
// the begin of an iteration of a pardo.
constexpr double register_time = 15e-9, block_time = 80e-9, get_time = 250e-9, draw_time = 200e-9;
constexpr double touched_in_cache = 80e9;  // bytes per second of element-wise work in the caches of one core
constexpr double call_time = 1e-6;         // of a super instruction
constexpr double part_of_cache = 0.7;      // that blocks can be expected to hold
constexpr double touch = sizeof(double) / touched_in_cache;

}  // namespace

OperationCosts::OperationCosts(const Module& module, const BoundProgram& bound, const OperandSources& sources,
                               const MachineSpeed& speed, bool keeps_integrals)
    : m_(module), bound_(bound), sources_(sources), speed_(speed), keeps_integrals_(keeps_integrals) {}

double OperationCosts::light() { return register_time; }
double OperationCosts::draw() { return draw_time; }

OperationCost OperationCosts::of(std::int32_t nest, const Instruction& in) const {
  OperationCost cost;
  switch (op_cost(in.op)) {
    case OpCost::quick: cost.fixed = register_time; return cost;
    case OpCost::fixed: cost.fixed = block_time; return cost;
    case OpCost::message: cost.fixed = get_time; return cost;
    case OpCost::send:
    case OpCost::elements:
      cost.fixed = block_time + (op_cost(in.op) == OpCost::send ? get_time : 0.0);
      for_each_block(in, [&](std::int32_t ref, Intent) { cost.element.push_back(touch + transfer(nest, ref)); });
      return cost;
    case OpCost::product: {
      // Operands stream in while tiles compute, a result is read and written between them.
      constexpr double not_hidden = 0.6;
      const bool adds = operand_intent(in, 0) == Intent::update;
      cost.fixed = block_time;
      cost.element = {not_hidden * (adds ? 2 : 1) * transfer(nest, in.a), not_hidden * transfer(nest, in.b),
                      not_hidden * transfer(nest, in.c)};
      return cost;
    }
    case OpCost::dot:
      cost.fixed = block_time;
      cost.element = {2.0 / 16 / speed_.cycles * 4 + transfer(nest, in.b), transfer(nest, in.c)};
      return cost;
    case OpCost::body:
      cost.fixed = call_time;
      add_arguments(nest, in, cost);
      return cost;
  }
  return cost;
}

/// Seconds that an element takes on its way from where it lies.
double OperationCosts::transfer(std::int32_t nest, std::int32_t ref) const {
  double seconds = 0;
  for (const auto& [distance, part] : sources_.distances(nest, ref)) {
    const double rate = distance < 32768                             ? 0.0
                        : distance < part_of_cache * speed_.l2_bytes ? speed_.l2_rate
                        : distance < part_of_cache * speed_.l3_bytes ? speed_.l3_rate
                                                                     : speed_.memory_rate;
    if (rate > 0) seconds += part * sizeof(double) / rate;
  }
  return seconds;
}

void OperationCosts::add_arguments(std::int32_t nest, const Instruction& in, OperationCost& cost) const {
  const std::string& name = m_.specials[in.a].name;
  const SuperDemand demand = demand_of({}, name);
  for (std::int32_t i = 0; i < in.c; ++i) {
    const ArgRow& arg = m_.args[in.b + i];
    double element = 0;
    if (arg.kind == ArgKind::block) {
      element = transfer(nest, arg.id);
      const double own = keeps_integrals_ ? demand.cached_element_time : demand.element_time;
      element += i == 0 && own > 0 ? own : touch;
    } else if (arg.kind == ArgKind::array && m_.arrays[arg.id].kind == ArrayKind::static_ &&
               m_.arrays[arg.id].dims.size() == 2 && name.starts_with("eigen")) {
      const auto n = static_cast<double>(bound_.arrays[arg.id].dim[0].total());
      cost.fixed += 5 * n * n * n / 2e9;  // half of it each, for the matrix and its vectors
    }
    cost.element.push_back(element);
  }
}

}  // namespace sial
