#pragma once
// Copies of blocks between the host's memory and the device's, in streams of the device after the work that they need,
// and with the host's memory held until they are done. Nothing waits but for blocks that go through staging memory.
// Owned by the cache.

#include "runtime/core/device/cache/cached_block.h"
#include "runtime/core/device/cache/device_statistics.h"
#include "runtime/core/device/cache/pinned_memory.h"

namespace sial {

class BlockTransfers {
 public:
  /// `direct`: from and to the blocks, else through staging memory.
  BlockTransfers(Device& device, DeviceOrder& order, PinnedMemory& held, DeviceStatistics& statistics, bool direct)
      : device_(device), order_(order), held_(held), statistics_(statistics), direct_(direct) {}

  bool direct() const { return direct_; }
  /// To its memory on the device. `statement`: whose transfer it is.
  void copy_in(CachedBlock& u, Statement statement);
  /// Copies values that the device alone has to the host, which has not asked for them.
  void write_back(CachedBlock& u, Statement statement);
  /// Waits for copies from and to the host's memory.
  void await_host(const CachedBlock& u) { order_.finish(u.host_busy); }
  /// From one block of the device to another, which then is valid. `n`: elements.
  void copy_on_device(DeviceBlock& from, DeviceBlock& to, std::int64_t n);
  /// The content of the device's memory counts no more.
  void poison(DeviceBlock& block, std::int64_t n);
  /// The content of the host's memory counts no more.
  void poison_host(CachedBlock& u);

 private:
  void copy_out(CachedBlock& u, Statement statement);

  Device& device_;
  DeviceOrder& order_;
  PinnedMemory& held_;
  DeviceStatistics& statistics_;
  const bool direct_;
};

}  // namespace sial
