#pragma once
// Host memory that copies under way need: buffers of blocks, held as by one more holder, and staging memory for blocks
// that are not copied from and to their place. It is held until the copies are done; how much is held is bounded. Owned
// by the cache; the host's buffers outlive it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

#include "runtime/core/device/cache/host_block.h"
#include "runtime/core/device/cache/order.h"
#include "runtime/core/memory/resource.h"

namespace sial {

class PinnedMemory {
 public:
  PinnedMemory(Device& device, DeviceOrder& order, BufferResource& host)
      : device_(device), order_(order), host_(host) {}

  /// One more holder of the buffer, for hold() to take over; false: it cannot have any.
  bool share(const double* buffer) { return host_.share(buffer); }
  /// Keeps the shared buffer, or what stands in for it, until the work is done. Waits for the oldest where much is
  /// held.
  void hold(const HostBlock& host, const Frontier& until, std::vector<double> staging = {});
  /// Holds the buffer, or waits where it cannot be held.
  void hold_or_finish(const HostBlock& host, const Frontier& until);
  /// For copies piece by piece: the shared buffer counts among what is held ...
  void begin_hold(const HostBlock& host) { held_bytes_ += host.buffer_size * 8; }
  /// ... and it is known for how long.
  void end_hold(const HostBlock& host, const Frontier& until);
  /// Without a wait.
  bool may_hold(std::int64_t bytes) const;
  void release_done();
  /// Nobody but its holders holds the buffer any more: waits for copies from and to it.
  void complete(const double* buffer);
  void complete_all();

  std::vector<double> staging(std::int64_t n);
  void recycle(std::vector<double> staging) { unused_staging_.push_back(std::move(staging)); }
  /// Host memory that copies go directly from and to is made known to the device in slabs, each when it is first used.
  void pin_around(const double* buffer);

 private:
  struct BufferInUse {
    Frontier until;
    const double* buffer = nullptr;
    std::int64_t size = 0;
    std::vector<double> staging;
  };
  void release(std::deque<BufferInUse>::iterator held);

  Device& device_;
  DeviceOrder& order_;
  BufferResource& host_;
  std::deque<BufferInUse> held_;
  std::int64_t held_bytes_ = 0;
  std::vector<std::vector<double>> unused_staging_;
  std::unordered_set<const std::byte*> slabs_;  // that the device was told of
};

}  // namespace sial
