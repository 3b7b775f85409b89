#pragma once
// The valid copy of a block, the host's or the device's, and the transfers that follow from uses of the block: read on
// the device: copied in if the device's copy is stale; written: not copied in; updated: copied in, and either write
// leaves the other side stale. Nothing is copied back before the host needs it, or the device the memory.
// The facts about a block belong to its memory and what that holds (BufferResource::content), not to its name: blocks
// that share memory share the device's copy, and a block that was fetched, put or kept over a barrier unchanged has it
// still. Copies and operations are under way in streams while the rank goes on; host memory that they need is held
// until they are done. Owned by one rank; the device and the host's buffers outlive it.

#include <cstdint>

#include "runtime/core/device/cache/cache_layers.h"
#include "runtime/core/device/cache/device_operations.h"
#include "runtime/core/device/cache/incoming.h"
#include "runtime/core/device/cache/outgoing.h"
#include "runtime/core/device/cache/residency_hints.h"
#include "runtime/core/device/cache/speculative_prefetch.h"

namespace sial {

/// The host's progress with a block: values that the device alone has are on their way to it from when all work on the
/// block is started.
enum class TransferState { not_started, under_way, complete };

/// The cache's parts, and what the host does with its own memory.
class DeviceBlockCache {
 public:
  /// `host`: where the buffers of blocks come from. `direct`: copies go from and to the blocks. `self_check`: see
  /// DeviceOperations.
  DeviceBlockCache(Device& device, BufferResource& host, bool direct, int self_check = 0);
  ~DeviceBlockCache();
  DeviceBlockCache(const DeviceBlockCache&) = delete;
  DeviceBlockCache& operator=(const DeviceBlockCache&) = delete;

  DeviceOperations& operations() { return operations_; }
  ResidencyHints& hints() { return hints_; }
  SpeculativePrefetch& prefetcher() { return prefetcher_; }
  IncomingBlocks& incoming() { return incoming_; }
  OutgoingBlocks& outgoing() { return outgoing_; }
  const DeviceStatistics& statistics() const { return layers_.statistics; }
  const DeviceStats& stats() const { return layers_.statistics.counts(); }
  ResourceStats device_memory() const { return layers_.memory.stats(); }

  // --- what the host does with its memory. `statement`: whose transfers it may take
  /// It is going to use the block at `first` in the buffer. `write`: to replace all of it.
  void on_host(const double* buffer, const double* first, Intent intent, Statement statement);
  /// The same for all blocks in a buffer.
  void buffer_on_host(const double* buffer, std::int64_t n, Intent intent, Statement statement);
  void all_on_host(Statement statement);
  /// The buffer's content is no longer wanted.
  void invalidate(const double* buffer, std::int64_t n) { layers_.table.drop_in(buffer, n); }
  /// The host has copied the block to a buffer of its own, as a put does; what that holds has the number `content`.
  void same_values(const double* buffer, const double* first, const double* copy, std::uint64_t content);
  /// The host's memory of the block has become an array's, as a put does that moves it.
  void transfer_ownership(const double* buffer, const double* first, Statement statement);

  Residency residency(const double* buffer, const double* first);
  /// Polls for a put that does not wait: no work is started for this.
  TransferState poll_transfer(const double* buffer, const double* first, Statement statement);
  /// All work on the block is started, if the device alone has it.
  bool work_started(const double* buffer, const double* first);

  /// Nobody but its holders holds the buffer any more: waits for copies from and to it.
  void complete(const double* buffer) { layers_.held.complete(buffer); }
  /// The same for all buffers: others may change what they hold.
  void complete_all() { layers_.held.complete_all(); }
  /// Gives back device memory of blocks that ended elsewhere: fetched ones, private copies.
  void sweep() { layers_.table.drop_stale(); }

 private:
  void on_host(CachedBlock& u, Intent intent, Statement statement);
  void look_at(CachedBlock& u, Statement statement);

  CacheLayers layers_;
  DeviceOperations operations_;
  ResidencyHints hints_;
  SpeculativePrefetch prefetcher_;
  IncomingBlocks incoming_;
  OutgoingBlocks outgoing_;
};

}  // namespace sial
