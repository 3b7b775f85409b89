#pragma once
// The search for the order that moves the fewest bytes (PardoTraffic::Bytes::rating): all permutations of few indices,
// or some of many, and from the best of them uphill, a step being another place of an index or another size of its
// groups. Bounded by the accesses that are looked at.

#include "runtime/core/interp/order/tier_traffic.h"

namespace sial {

struct FoundOrder {
  TupleOrder order;  // on the grid of the recorded pardo
  PardoTraffic::Bytes bytes;
};

/// `rank`: of the pardo's indices.
FoundOrder search_order(const RecordedPardo& pardo, std::size_t rank, PardoTraffic& traffic);

}  // namespace sial
