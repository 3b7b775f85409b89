#pragma once
// Less movement than this is not possible for a sequence of accesses, whatever leaves when. Bytes read and bytes
// written are bounded each for itself, with blocks that may stay in part: between two accesses that want the same
// content, what does not stay is read once; what does not stay from a change to the last access that wants it is
// written once. Of spans that overlap more than the capacity allows, the one that ends last loses, which is best for
// spans of equal worth per byte. O(n log n).

#include <cstdint>

#include "runtime/core/tier/replay/access_sequence.h"
#include "runtime/core/tier/replay/capacity.h"

namespace sial {

struct TrafficBound {
  std::int64_t bytes_read = 0, bytes_written = 0;
  std::int64_t bytes() const { return bytes_read + bytes_written; }
};

TrafficBound lower_bound(const AccessSequence& sequence, const Capacity& capacity);

}  // namespace sial
