#pragma once
// The orders in which the pardos of a program run their iterations (choose_order.h): chosen when a pardo runs for the
// first time, the same on all ranks. Owned by the machine's pardo run.

#include <map>
#include <vector>

#include "runtime/core/interp/context/run_context.h"
#include "runtime/core/interp/order/choose_order.h"

namespace sial {

class PardoOrders {
 public:
  explicit PardoOrders(const RunContext& context);

  /// Whether orders other than the one as written are looked for.
  bool chooses() const { return chooses_; }
  /// The order of a pardo whose indices all have values.
  const TupleOrder& of(std::int32_t loop);
  /// The orders of the pardos that memory was short for, in the order of the program.
  std::vector<PardoOrderFacts> facts() const;

 private:
  PardoOrder choose(std::int32_t loop) const;

  const RunContext& context_;
  const bool chooses_;
  std::map<std::int32_t, PardoOrder> orders_;  // by loop
};

}  // namespace sial
