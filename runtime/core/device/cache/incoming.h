#pragma once
// Blocks of other nodes on their way to the device. Direct: received in its memory. The host's copy is stale from the
// beginning, as that of a block which the device has written: its buffer is where they go when the host asks for them,
// or the device needs the memory. Pipelined: received in the host's buffer, from where what has come is copied to the
// device while the rest comes; both have the block in the end. Owned by the cache.

#include <memory>

#include "runtime/core/device/cache/cache_layers.h"
#include "runtime/core/memory/incoming.h"

namespace sial {

/// Its results must be gone before this is.
class IncomingBlocks {
 public:
  explicit IncomingBlocks(CacheLayers& layers) : layers_(layers) {}

  /// Memory for a block that comes from another node and is expected to be used on the device; null: it has to go by
  /// the host. Never waits.
  std::unique_ptr<IncomingBlock> receive_direct(const HostBlock& host);
  /// The same for one that comes to its buffer on the host: what has come of it goes on to the device while the rest
  /// comes, from when the first piece has and if there is memory then. One that comes as a whole is left to
  /// SpeculativePrefetch, or to its use. Null: this block cannot be received so. `statement`: whose transfer it is.
  std::unique_ptr<IncomingBlock> receive_pipelined(const HostBlock& host, Statement statement);

 private:
  CacheLayers& layers_;
};

}  // namespace sial
