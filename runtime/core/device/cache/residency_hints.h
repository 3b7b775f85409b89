#pragma once
// Blocks that statements name: prefetched to the device before an operation asks for them, written back before the host
// does, evicted. The rules of validity are the same as for operations, so a hint can come too early or in vain, but
// changes no value. Nothing is done where that needs more memory than the device has. Owned by the cache.

#include <cstdint>

#include "runtime/core/device/cache/cache_layers.h"

namespace sial {

class ResidencyHints {
 public:
  explicit ResidencyHints(CacheLayers& layers) : layers_(layers) {}

  // `statement`: the one that names the block.
  /// Its values are on their way to the device, if they are not there. Does not wait for them.
  void prefetch(const HostBlock& host, Statement statement);
  /// It has memory there, without values if it had none.
  void reserve(const HostBlock& host, Statement statement) { with_memory(host, statement); }
  /// There is memory for a block of `n` elements that is not made yet.
  void reserve(std::int64_t n, Statement statement);
  /// Starts the copy to the host of all that the device alone has of the block that begins there.
  void write_back(const double* first, Statement statement);
  /// So that then nothing of it is left on the device.
  void evict(const double* first, Statement statement);

 private:
  CachedBlock* with_memory(const HostBlock& host, Statement statement);

  CacheLayers& layers_;
};

}  // namespace sial
