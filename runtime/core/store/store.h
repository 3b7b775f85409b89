#pragma once
// The distributed block store as a rank sees it: one narrow interface for each of its uses, all over the same blocks.
// A caller that needs only one of them takes only that one. Rules: runtime/core/store/README.md. Owned by one rank,
// used by its interpreter thread. All calls name the statement (Place) for messages and statistics. Blocks are
// column-major doubles; the store knows sizes, not extents.

#include <memory>

#include "runtime/core/store/interface/fetch.h"
#include "runtime/core/store/interface/integral_cache.h"
#include "runtime/core/store/interface/look_ahead.h"
#include "runtime/core/store/interface/monitor.h"
#include "runtime/core/store/interface/options.h"
#include "runtime/core/store/interface/snapshots.h"
#include "runtime/core/store/interface/synchronization.h"
#include "runtime/core/store/interface/update.h"

namespace sial {

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  BlockFetch& fetch() const { return *parts_.fetch; }
  BlockLookAhead& look_ahead() const { return *parts_.look_ahead; }
  BlockUpdate& update() const { return *parts_.update; }
  StoreSynchronization& synchronization() const { return *parts_.synchronization; }
  StoreSnapshots& snapshots() const { return *parts_.snapshots; }
  IntegralCache& integral_cache() const { return *parts_.integral_cache; }
  StoreMonitor& monitor() const { return *parts_.monitor; }
  /// Buffers for this rank's own blocks (temps, locals, statics), from this rank's share of the node heap.
  BufferResource& buffers() const { return *parts_.buffers; }

 protected:
  /// Plain pointers, so that a use costs no virtual call but its own. They live as long as the store.
  struct Parts {
    BlockFetch* fetch = nullptr;
    BlockLookAhead* look_ahead = nullptr;
    BlockUpdate* update = nullptr;
    StoreSynchronization* synchronization = nullptr;
    StoreSnapshots* snapshots = nullptr;
    IntegralCache* integral_cache = nullptr;
    StoreMonitor* monitor = nullptr;
    BufferResource* buffers = nullptr;
  };
  BlockStore() = default;
  /// Before anybody else sees the store.
  void set_parts(const Parts& parts) { parts_ = parts; }

 private:
  Parts parts_;
};

/// Collective. Sets the transport's service when there are several nodes (work queue messages are handed on to
/// `queue`).
class WorkQueue;
std::unique_ptr<BlockStore> make_block_store(Transport& transport, WorkQueue* queue, const StoreOptions& options);

}  // namespace sial
