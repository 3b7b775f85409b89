#pragma once
// The store of one rank: its parts over the node's shared heap and directory. Each part implements one of the store's
// interfaces, or owns one piece of state that others use; this class makes them in an order in which each knows only
// those before it. Blocks whose home is this node are worked on directly, others through messages.

#include <memory>

#include "runtime/core/memory/arena_pool.h"
#include "runtime/core/store/access/block_writer.h"
#include "runtime/core/store/access/fetched_blocks.h"
#include "runtime/core/store/directory/integral_cache.h"
#include "runtime/core/store/local/node_storage.h"
#include "runtime/core/store/phases/copy_retention.h"
#include "runtime/core/store/phases/deletions.h"
#include "runtime/core/store/phases/memory_relief.h"
#include "runtime/core/store/phases/rank_phases.h"
#include "runtime/core/store/phases/rank_snapshots.h"
#include "runtime/core/store/rank_monitor.h"
#include "runtime/core/store/remote/array_requests.h"
#include "runtime/core/store/remote/block_requests.h"
#include "runtime/core/store/remote/context.h"
#include "runtime/core/store/remote/outgoing_puts.h"
#include "runtime/core/store/remote/pending_accumulates.h"
#include "runtime/core/store/remote/prefetch_pool.h"
#include "runtime/core/store/remote/rank_cache.h"
#include "runtime/core/store/remote/service.h"
#include "runtime/core/store/store.h"

namespace sial {

class StoreImpl final : public BlockStore {
 public:
  StoreImpl(Transport& transport, WorkQueue* queue, const StoreOptions& options);
  ~StoreImpl() override;

 private:
  /// For the heap, which has no memory left.
  bool reclaim(std::uint64_t bytes);
  /// Why there was nothing to reclaim.
  std::string problem() const;
  static std::unique_ptr<SpillArea> make_area(Transport& transport, const StoreOptions& options, NodeHeap& heap);
  std::unique_ptr<SpilledBlocks> make_spilled(bool on_rank_thread);

  Transport& transport_;
  const StoreOptions options_;

  // The node: its memory, and the blocks whose home it is.
  NodeStorage storage_;
  const NodeBlocks::Config config_;
  std::unique_ptr<SpillArea> area_;                              // with tiers
  std::unique_ptr<SpilledBlocks> spilled_, spilled_for_others_;  // ... for this rank's thread, and the helper's
  ArenaPool buffers_;
  ArrayNames names_;
  NodeBlocks node_;
  std::unique_ptr<StoreService> service_;  // with several nodes

  // The blocks that this rank holds, and those on their way to and from other nodes.
  StoreContext context_;
  RankCache copies_;
  BlockRequests requests_;
  PrefetchPool prefetches_;
  OutgoingPuts puts_;
  PendingAccumulates accumulates_;

  // The operations of statements.
  FetchedBlocks fetched_;
  BlockWriter writer_;
  NodeIntegralCache integral_cache_;

  // Phases, whole arrays, labels.
  ArrayRequests array_requests_;
  Deletions deletions_;
  CopyRetention retention_;
  MemoryRelief relief_;
  RankSnapshots snapshots_;
  RankPhases phases_;
  RankMonitor monitor_;
};

}  // namespace sial
