#pragma once
// The counts of a rank's store and the memory it holds, for reports and messages.
// Ownership: numbers are copies, but for phase_peaks(), which is the store's and grows at barriers. Threads: the rank's
// interpreter thread only. Errors: none.

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/memory/node_heap.h"
#include "runtime/core/numa/report.h"
#include "runtime/core/stats/counter_field.h"
#include "runtime/core/stats/trace.h"
#include "runtime/core/store/interface/tier_counts.h"

namespace sial {

struct StoreStats {
  // Each prefetch is in the end useful, late or useless.
#define COUNTED_store(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/core/stats/counters.def"
  TierStats tier;
  double barrier_seconds = 0;  // a part of the rank's barrier_time
};

/// Per statement and array, for the report.
/// `prefetched`: accesses that were the first use of a prefetched block; `late`: those of them that had to wait for it.
/// `bytes` were used, `moved` were copied, sent or received for the statement, `in_place` were leased without a copy.
/// `too_large`: gets foreseen that were not prefetched because their blocks (the largest of `too_large_bytes`) will
/// never find room beside what a rank needs; with `enough_memory` bytes per rank they would.
struct AccessStats {
  Place place;
  ArrayId array;
#define ACCESS_COST(type, field, combine, key) type field = 0;
#define ACCESS_COST_OF_RANKS(type, field, combine, key)
#include "runtime/core/stats/costs.def"
};

class StoreMonitor {
 public:
  virtual ~StoreMonitor() = default;

  virtual StoreStats stats() const = 0;
  /// Bytes of the node's memory, where what it cannot hold goes to tiers; 0: there are none.
  virtual std::int64_t spill_capacity() const { return 0; }
  virtual std::vector<AccessStats> access_stats() const = 0;
  /// One entry per barrier and end of program; the shared part on the first rank of each node only.
  virtual const std::vector<PhasePeak>& phase_peaks() const = 0;
  /// The transfers of servers since the last call. By one rank only, while no rank uses blocks.
  virtual TierStats take_server_tiers() { return {}; }
  /// Bytes that the fullest server needed since the last call, over all phases; 0 without servers. By one rank only.
  virtual std::int64_t server_peak() = 0;
  /// The effect of the rules for memory nodes (NUMA) on this rank, and where the pages of its arena are now.
  virtual NumaReport numa() const { return {}; }
  /// For messages: names and bytes of the remote arrays and saved labels whose blocks lie on this rank's node, and of
  /// the rank's fetched copies.
  virtual std::vector<std::pair<std::string, std::int64_t>> memory_held() const = 0;
  /// The trace for waiting and barriers from now on; null: none.
  virtual void set_trace(Trace* trace) = 0;
};

}  // namespace sial
