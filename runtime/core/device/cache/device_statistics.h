#pragma once
// What the cache of a device's blocks counts: transfers by statement and array, what simulated devices count as the
// lower bound, and what the device did since this was made. Owned by the cache, whose parts
// increment the counters.

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "runtime/core/base/ids.h"
#include "runtime/core/device/cache/cached_block.h"
#include "runtime/core/device/device.h"

namespace sial {

/// Transfers of one array's blocks, at one statement.
struct TransferRow {
#define TRANSFER_COST(field) TransferCount field;
#include "runtime/core/stats/costs.def"
};

/// Transfers by three rules. As written: each operand of an operation goes to the device before it and comes back after
/// it. By intent: those that were made. Lower bound: what one side makes of a block crosses once if the other wants it,
/// and nothing that the device has had under any name crosses again for having been put and fetched, whatever memory
/// that takes (counted by simulated devices only).
struct DeviceStats {
#define COUNTED_device(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/core/stats/counters.def"
  std::int64_t on_host_instead = 0;
  TransferCount sent_direct, sent_pipelined;  // to other nodes, of blocks that only the device had
  TransferCount received_direct;              // blocks of other nodes, in its memory
  TransferCount received_pipelined;           // ... that went on to it from the host while the rest of them came
  TransferCount ahead, ahead_used;            // prefetched; of these, those that an operation has asked for
  std::map<std::pair<std::int32_t, ArrayId>, TransferRow> rows;  // by statement and array
  TransferRow total() const;
};

class DeviceStatistics {
 public:
  explicit DeviceStatistics(Device& device);

  const DeviceStats& counts() const { return counts_; }
  DeviceStats& counts() { return counts_; }
  TransferRow& row(Statement statement, ArrayId array) { return counts_.rows[{statement.pc, array}]; }

  void begin_operation() { ++counts_.operations; }
  /// The host's values go to the device, which does not have them yet.
  void copied_in(CachedBlock& u, Statement statement);
  /// What the device wrote is in the host's memory, and the host looks at it.
  void seen_by_host(CachedBlock& u, Statement statement);
  /// The device has these values, which another node made or will have.
  void seen_by_device(const HostBlock& values) { seen_by_device_.insert(hash_values(values)); }

  /// What the device's time went to since this was made; waits for it. Nothing where its time is not taken.
  std::optional<DeviceTimes> times() const;
  /// Work that was started together with its like since this was made; and all kernels and products that were started.
  BatchCount batched() const { return device_.batched().since(batched_before_); }
  std::int64_t starts() const { return device_.starts() - starts_before_; }

 private:
  Device& device_;
  DeviceStats counts_;
  std::unordered_set<std::uint64_t> seen_by_device_;  // hashes of values
  std::optional<DeviceTimes> times_before_;
  BatchCount batched_before_;
  std::int64_t starts_before_;
};

}  // namespace sial
