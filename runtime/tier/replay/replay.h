#pragma once
// The movement that a sequence of accesses causes between a memory of limited size and a tier below it, played through:
// bytes read and written, by array, and how full both become. When memory is short, a block that is not in use leaves.
// A block that has not changed since it was read or written is dropped, others are written first; what died is never
// written. A write needs no read; an update of a block that lies below reads it first. When transfers happen does not
// matter here, so that writing ahead and prefetching change nothing. O(n log n).

#include <cstdint>
#include <vector>

#include "runtime/tier/replay/access_sequence.h"

namespace sial {

/// Which block leaves.
enum class SpillRule : std::uint8_t {
  planned,              // the one that is wanted farthest from now; of those never wanted, the one used longest ago
  least_recently_used,  // the one used longest ago
  offline,              // as planned, but knowing too what will never be wanted, which is not written; and a block that
                        // must be written has to be wanted that much later (`written_weight`)
};

struct ReplaySetting {
  static constexpr std::int64_t whole_sequence = -1;
  std::int64_t capacity = 0;  // bytes
  SpillRule rule = SpillRule::planned;
  /// Planned: accesses ahead that are known. Blocks not wanted in them leave first, the one used longest ago before.
  std::int64_t window = whole_sequence;
  double written_weight = 1;
};

struct TierTraffic {
  std::int64_t bytes_read = 0, bytes_written = 0, reads = 0, writes = 0;
  std::int64_t bytes() const { return bytes_read + bytes_written; }
};

struct ReplayResult {
  TierTraffic total;
  std::vector<TierTraffic> by_array;
  std::int64_t max_resident = 0;  // bytes in memory,
  std::int64_t max_below = 0;     // and in the tier, at most
  std::int64_t max_in_use = 0;    // what cannot leave, at most: the least memory that works
  std::int32_t max_in_use_place = 0;
};

/// Where what is in use exceeds the capacity, memory is exceeded too: max_in_use says so.
ReplayResult replay(const AccessSequence& sequence, const ReplaySetting& setting);

/// The least movement that is found with the whole sequence known: Belady's rule (what is wanted farthest leaves),
/// played through with several weights of blocks that must be written first. With write-backs and blocks of several
/// sizes the least is not known to be computable in reasonable time; lower_bound.h says how far it can be from this.
ReplayResult offline_optimum(const AccessSequence& sequence, std::int64_t capacity);

}  // namespace sial
