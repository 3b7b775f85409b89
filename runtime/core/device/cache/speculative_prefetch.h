#pragma once
// Blocks whose use is foreseen: copied to the device beside the work that comes before it. Nobody has asked for them
// yet, so nothing is waited for, what is taken for them is bounded, and only what is not known to come back is evicted
// for them. The rules of validity are those of operations: a block that changes before its use has another content
// number by then, and what was prefetched is dropped (CachedBlockTable::find). Owned by the cache.

#include "runtime/core/device/cache/cache_layers.h"

namespace sial {

class SpeculativePrefetch {
 public:
  enum class Outcome {
    done,       // the device has it, or cannot have it
    started,    // on its way
    later,      // it would have to wait for something
    no_memory,  // nothing that is wanted later leaves for it, or enough is on its way
  };
  explicit SpeculativePrefetch(CacheLayers& layers) : layers_(layers) {}

  /// A block that has its value and may change before its use, which is expected so many operations from now. Never
  /// waits, never throws DeviceFull. Its buffer may be given back at once: copies under way hold it. `statement`: whose
  /// transfer it is.
  Outcome prefetch(const HostBlock& host, double operations, Statement statement);

 private:
  CacheLayers& layers_;
};

}  // namespace sial
