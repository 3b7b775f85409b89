#pragma once
// The movement that a sequence of accesses causes between a memory of limited size and a tier below it, played through:
// bytes read and written, by array, and how full both become. When memory is short, a block that is not in use leaves.
// A block that has not changed since it was read or written is dropped, others are written first; what died is never
// written. A write needs no read; an update of a block that lies below reads it first. When transfers happen does not
// matter here, so that writing ahead and prefetching change nothing. O(n log n).

#include <cstdint>
#include <vector>

#include "runtime/core/tier/replay/access_sequence.h"
#include "runtime/core/tier/replay/capacity.h"

namespace sial {

/// The choice of the block that leaves.
enum class SpillRule : std::uint8_t {
  farthest,             // the one that is wanted farthest from now; of those never wanted, the one used longest ago
  weighted,             // the one whose memory is free longest for each byte moved: one that must be written and read
                        // again costs twice, one that must be written and is replaced or dies unread costs once
  least_recently_used,  // the one used longest ago
  offline,              // as weighted, and what is never wanted is dropped without being written
};

struct ReplaySetting {
  static constexpr std::int64_t whole_sequence = -1;
  Capacity capacity;
  SpillRule rule = SpillRule::farthest;
  /// Accesses ahead that are known. Blocks that do not appear in them leave first, the one used longest ago before.
  std::int64_t window = whole_sequence;
  double twice = 2;  // weight of what is to be written and read again
};

struct TierTraffic {
  std::int64_t bytes_read = 0, bytes_written = 0, reads = 0, writes = 0;
  std::int64_t bytes_in_vain = 0;  // part of those written: replaced, or dead, before anybody read them
  std::int64_t bytes() const { return bytes_read + bytes_written; }
};

/// Blocks that cannot leave, at their most: the least memory that works.
struct BlocksInUse {
  std::int64_t bytes = 0;
  std::int32_t place = 0;
};

struct ReplayResult {
  TierTraffic total;
  std::vector<TierTraffic> by_array;
  std::int64_t max_resident = 0;        // bytes in memory,
  std::int64_t max_below = 0;           // and in the tier, at most
  std::vector<BlocksInUse> max_in_use;  // per part of the sequence, one at least
};

/// Memory is exceeded, too, where what is in use exceeds the capacity.
ReplayResult replay(const AccessSequence& sequence, const ReplaySetting& setting);

/// The least movement that is found with the whole sequence known: Belady's rule (what is wanted farthest leaves),
/// played through with several weights. With write-backs and blocks of several
/// sizes the least is not known to be computable in reasonable time; lower_bound.h says how far it can be from this.
ReplayResult offline_optimum(const AccessSequence& sequence, const Capacity& capacity);

}  // namespace sial
