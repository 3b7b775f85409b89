#include "runtime/core/interp/order/pardo_orders.h"

namespace sial {
namespace {

bool may_choose(const MachineOptions& options) {
  switch (options.pardo_order) {
    case PardoOrdering::written: return false;
    case PardoOrdering::shuffled: return true;
    case PardoOrdering::automatic: break;
  }
  return options.spill_capacity > 0;
}

}  // namespace

PardoOrders::PardoOrders(const RunContext& context) : context_(context), chooses_(may_choose(context.options)) {}

const TupleOrder& PardoOrders::of(std::int32_t loop) {
  const auto found = orders_.find(loop);
  return (found != orders_.end() ? found : orders_.emplace(loop, choose(loop)).first)->second.order;
}

PardoOrder PardoOrders::choose(std::int32_t loop) const {
  const MachineOptions& options = context_.options;
  if (options.pardo_order == PardoOrdering::shuffled) {
    PardoOrder shuffled;
    shuffled.order = shuffled_order(context_.bound, loop, options.deterministic);
    return shuffled;
  }
  std::vector<std::int32_t> ints;
  std::vector<double> scalars;
  initial_values(context_.module, context_.env.job, ints, scalars);
  const OrderSetting setting{options.spill_capacity,
                             context_.workers(),
                             static_cast<int>(context_.env.transport.ranks_of_node(NodeId(0)).size()),
                             {options.schedule == Schedule::static_, context_.env.state.saved_agree},
                             options.deterministic};
  return choose_order(context_.bound, ints, loop, setting);
}

std::vector<PardoOrderFacts> PardoOrders::facts() const {
  std::vector<PardoOrderFacts> all;
  for (const auto& [loop, chosen] : orders_) {
    if (!chosen.considered) continue;
    const Module& m = context_.module;
    const SourcePlace& place = m.places[static_cast<std::size_t>(m.loops[static_cast<std::size_t>(loop)].begin)];
    all.push_back({m.files.at(static_cast<std::size_t>(place.file)), place.line, chosen.text, chosen.refusal,
                   chosen.bytes, chosen.bytes_as_written});
  }
  return all;
}

}  // namespace sial
