#pragma once
// The order of a pardo's iterations where memory is short (runtime/core/interp/ORDER.md): of permutations of its indices,
// and groups of segments that are taken together, the one that is predicted to move the fewest bytes between memory and
// the tiers below it. A function of the module, its bound ranges, and the memory and ranks of the first node: all ranks
// choose the same. No time enters it.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/interp/context/bind.h"

namespace sial {

/// The resources of the nodes; the first one stands for all.
struct OrderSetting {
  std::int64_t capacity = 0;  // bytes of remote blocks that a node's memory holds
  int ranks = 1, ranks_of_node = 1;
  PardoRules rules;
  bool deterministic = false;  // asked for
};

struct PardoOrder {
  TupleOrder order;
  /// Whether memory is short for the pardo, so that its order was looked at.
  bool considered = false;
  double bytes = 0, bytes_as_written = 0;  // predicted to move at one execution, on one node
  std::string text;                        // "k inside; i in groups of 4; j outside"; "as written"
  std::string refusal;  // why it runs as written though `bytes` are fewer; empty: it does not, or they are not
};

PardoOrder choose_order(const BoundProgram& bound, const std::vector<std::int32_t>& ints, std::int32_t loop,
                        const OrderSetting& setting);

/// For tests: some order of any pardo whose order may be changed, drawn by the number of its loop; else as written.
TupleOrder shuffled_order(const BoundProgram& bound, std::int32_t loop, bool deterministic);

/// Why the iterations must run as written; empty: they need not.
std::string order_is_fixed(const Module& module, std::int32_t loop, bool deterministic);

std::string order_text(const BoundProgram& bound, std::int32_t loop, const TupleOrder& order);

}  // namespace sial
