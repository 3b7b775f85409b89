#pragma once
// The blocks that a device has, or had, by their memory on the host, and when each is expected to be used next. A block
// counts only while its buffer on the host holds what it did when the block was made (BufferResource::content).
// Blocks that have the same values share device memory; the last one gives it back. Time is counted in operations.
// Owned by the cache; pool, budget and statistics outlive it.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "runtime/core/device/cache/cached_block.h"
#include "runtime/core/device/cache/device_pool.h"
#include "runtime/core/device/cache/next_use.h"
#include "runtime/core/device/cache/prefetch_budget.h"
#include "runtime/core/memory/resource.h"

namespace sial {

class CachedBlockTable {
 public:
  CachedBlockTable(BufferResource& host, DevicePool& pool, PrefetchBudget& budget)
      : host_(host), pool_(pool), budget_(budget) {}

  // --- blocks
  /// Null when the device knows nothing of what the host's memory holds now.
  CachedBlock* find(const double* buffer, const double* first);
  /// The block that begins there, in whatever buffer.
  CachedBlock* find(const double* first);
  /// Makes the entry of a block of which nothing is known yet.
  CachedBlock& make(const HostBlock& host);
  /// One that has come to the device in this memory, which counts as so many bytes prefetched. What the device
  /// has of it is up to the caller.
  CachedBlock& make_received(const HostBlock& host, std::shared_ptr<DeviceBlock> block, std::int64_t bytes);
  /// One that has the values of another, in the buffer `copy` on the host whose content is `content`.
  void make_shared(const CachedBlock& of, const double* copy, std::uint64_t content);
  void drop(CachedBlock& u);
  /// All that begin in the buffer.
  void drop_in(const double* buffer, std::int64_t n);
  void drop_stale();
  bool current(const CachedBlock& u) const;
  /// f(block), which may drop it.
  template <class F>
  void for_each(F&& f) {
    for (auto at = blocks_.begin(); at != blocks_.end();) f((at++)->second);
  }
  template <class F>
  void for_each_in(const double* buffer, std::int64_t n, F&& f) {
    const double* end = buffer + std::max<std::int64_t>(n, 1);
    for (auto at = blocks_.lower_bound(buffer); at != blocks_.end() && at->first < end;) f((at++)->second);
  }

  // --- their device memory
  void attach(CachedBlock& u, std::shared_ptr<DeviceBlock> block);
  /// The device's copy goes; the host has the values.
  void evict(CachedBlock& u);
  /// The device's memory goes, with the last who has it.
  void detach(CachedBlock& u);
  /// The last one who has it, as a cached block, an operand or a message, gives the memory back.
  void give_back(std::shared_ptr<DeviceBlock> block);

  // --- uses
  /// The number of the present operation.
  std::uint64_t now() const { return operation_; }
  void begin_operation() { ++operation_; }
  /// The present operation, or a hint, uses it.
  void use(CachedBlock& u, Statement statement);
  void record_used_again(const CachedBlock& u);
  /// The block's content is not used any more.
  void record_ended(CachedBlock& u);
  /// It is expected at this operation.
  void expect_at(CachedBlock& u, double due);

  // --- what may leave the device
  /// The block that is due last, or overdue for so long that it may not come back, and is no operand of the present
  /// operation.
  CachedBlock* min_wanted();
  /// Among some that are due last, and later than `bound`: one that the host has as well, that shares nothing, was not
  /// prefetched, is not in use, and satisfies `also`.
  template <class F>
  CachedBlock* clean_victim(double bound, F&& also) {
    auto at = due_.rbegin();
    for (int looked = 0; looked < max_looked_at && at != due_.rend() && at->first > bound; ++looked, ++at) {
      CachedBlock& u = blocks_.at(at->second);
      if (u.last_operation != operation_ && u.prefetched_bytes == 0 && u.on_host() && u.block->sharers == 1 && also(u))
        return &u;
    }
    return nullptr;
  }

 private:
  /// For one that leaves for a prefetch.
  static constexpr int max_looked_at = 16;
  using Blocks = std::map<const double*, CachedBlock>;  // by the block's first element on the host
  void list(const CachedBlock& u);
  void unlist(const CachedBlock& u);
  void drop(Blocks::iterator at);

  BufferResource& host_;
  DevicePool& pool_;
  PrefetchBudget& budget_;
  Blocks blocks_;
  std::set<std::pair<double, const double*>> due_;  // those on the device, by when they are
  DeviceNextUse next_use_;
  std::uint64_t operation_ = 0;
};

}  // namespace sial
