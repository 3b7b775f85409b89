#pragma once
// The memory of this rank's own blocks, from the rank's share of the node's heap. What the device has of a block goes
// with the block. Knows for which array memory was being made when there was none.

#include <cstdint>

#include "runtime/core/interp/blocks/device_execution.h"

namespace sial {

class BlockMemory {
 public:
  BlockMemory(const RunContext& context, const DeviceExecution& device)
      : buffers_(context.env.store.buffers()), device_(device) {}

  double* allocate(std::int64_t n) const { return buffers_.allocate(n); }
  double* allocate_for(ArrayId array, std::int64_t n) {
    allocating_ = array;
    double* data = buffers_.allocate(n);
    allocating_ = no_array;
    return data;
  }
  /// The array of the allocation that failed; -1: none.
  ArrayId allocating() const { return allocating_; }

  void release(double* data, std::int64_t n) const noexcept { buffers_.deallocate(data, n); }
  /// A block ends; what a device has of it goes with it, unless the memory goes on as another one.
  void release_block(double* data, std::int64_t n) const noexcept {
    if (device_.cache() && buffers_.sole(data)) device_.invalidate(data, n);
    buffers_.deallocate(data, n);
  }
  /// Whether the memory has one holder.
  bool sole(const double* data) const { return buffers_.sole(data); }
  /// Adds a holder; false: it cannot have more.
  bool share(const double* data) const { return buffers_.share(data); }

 private:
  BufferResource& buffers_;
  const DeviceExecution& device_;
  ArrayId allocating_ = no_array;
};

}  // namespace sial
