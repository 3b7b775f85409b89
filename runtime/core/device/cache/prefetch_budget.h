#pragma once
// The part of a device's memory for blocks that are prefetched, or received, and not used yet: a sixteenth, less after
// one that was prefetched for nothing, and more again with each use. Owned by the cache.

#include <algorithm>
#include <cstdint>

#include "runtime/core/device/cache/cached_block.h"
#include "runtime/core/device/cache/device_pool.h"

namespace sial {

class PrefetchBudget {
 public:
  explicit PrefetchBudget(Device& device) : device_(device) {}

  bool fits(std::int64_t bytes) { return bytes_ + bytes <= limit(); }
  void take(std::int64_t bytes) { bytes_ += bytes; }
  void give_back(std::int64_t bytes) { bytes_ -= bytes; }
  /// An operation wants its values on the device. True: they were prefetched or received, and not used before. Fetched
  /// ones that were not might have been.
  bool record_use(CachedBlock& u);
  /// If it was prefetched, that was for nothing: from now on there may be half of what there was.
  void record_no_use(CachedBlock& u);

 private:
  /// A part of the device's memory.
  static constexpr std::int64_t largest_share = 16;
  /// Parts of a block's bytes by which the bound grows when one was used, and when one was copied for its use only: it
  /// finds out again, now and then, whether prefetches pay.
  static constexpr std::int64_t used_grows = 4, missed_grows = 16;
  std::int64_t limit() {
    if (limit_ < 0) limit_ = device_.memory() / largest_share;
    return limit_;
  }

  Device& device_;
  std::int64_t bytes_ = 0, limit_ = -1;  // -1: not set yet
};

inline bool PrefetchBudget::record_use(CachedBlock& u) {
  if (u.prefetched_bytes == 0 && (u.on_device() || !u.host.fetched || limit_ < 0)) return false;
  const std::int64_t most = device_.memory() / largest_share;
  if (u.prefetched_bytes == 0) {
    limit_ = std::min(most, limit_ + DevicePool::rounded(u.size) * 8 / missed_grows);
    return false;
  }
  bytes_ -= u.prefetched_bytes;
  limit_ = std::min(most, limit_ + u.prefetched_bytes / used_grows);
  u.prefetched_bytes = 0;
  return true;
}

inline void PrefetchBudget::record_no_use(CachedBlock& u) {
  if (u.prefetched_bytes == 0) return;
  limit_ = std::min(limit(), bytes_ / 2);
  bytes_ -= u.prefetched_bytes;
  u.prefetched_bytes = 0;
}

}  // namespace sial
