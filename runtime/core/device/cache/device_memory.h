#pragma once
// The device's memory for blocks, and what leaves it where there is not enough: the block that is due last, or in the
// end a block on its way. What the device alone has is written back. For prefetches only clean copies leave that are
// not known to come back. Owned by the cache.

#include <cstdint>
#include <vector>

#include "runtime/core/device/cache/block_transfers.h"
#include "runtime/core/device/cache/cached_block_table.h"
#include "runtime/core/device/cache/device_pool.h"

namespace sial {

/// An owner of device memory that goes for an operation's when there is no other.
class RevocableMemory {
 public:
  virtual void revoke() = 0;

 protected:
  ~RevocableMemory() = default;
};

class DeviceMemory {
 public:
  DeviceMemory(DeviceOrder& order, DevicePool& pool, CachedBlockTable& table, BlockTransfers& transfers,
               DeviceStatistics& statistics)
      : order_(order), pool_(pool), table_(table), transfers_(transfers), statistics_(statistics) {}

  // `statement`: whose transfers it is where blocks are written back for it.
  double* allocate(std::int64_t n, Frontier& free_after, Statement statement);  // throws DeviceFull
  /// From memory that is free, or that clean copies leave which are wanted later than `due`; `idle`: and that no work
  /// is on any more. Null where there is none. Never waits.
  double* allocate_clean(std::int64_t n, double due, bool idle, Frontier& free_after);
  void release(double* p, const Frontier& used_until) { pool_.release(p, used_until); }
  ResourceStats stats() const { return pool_.stats(); }

  /// Memory without a value for the block. Throws DeviceFull.
  void attach(CachedBlock& u, Statement statement);
  /// The block is going to be written on the device: others that share its values keep them. `keep`: as it does.
  void make_exclusive(CachedBlock& u, bool keep, Statement statement);

  /// The last one added is revoked first.
  void add_revocable(RevocableMemory& memory) { revocable_.push_back(&memory); }
  void remove_revocable(RevocableMemory& memory) { std::erase(revocable_, &memory); }

 private:
  bool evict_one(Statement statement);

  DeviceOrder& order_;
  DevicePool& pool_;
  CachedBlockTable& table_;
  BlockTransfers& transfers_;
  DeviceStatistics& statistics_;
  std::vector<RevocableMemory*> revocable_;
};

}  // namespace sial
