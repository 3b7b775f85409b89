#pragma once
// The blocks that a rank still holds when a phase has ended: none, or the copies that the plan vouches for. Keeps
// nothing itself: arrays say which copies outlive the barrier, held blocks whether they do. Used by the rank's thread.

#include "runtime/core/base/ids.h"
#include "runtime/core/store/access/fetched_blocks.h"

namespace sial {

class CopyRetention {
 public:
  CopyRetention(StoreContext& context, RankCache& copies, FetchedBlocks& fetched, PrefetchPool& prefetches,
                OutgoingPuts& puts, PendingAccumulates& accumulates)
      : context_(context),
        copies_(copies),
        fetched_(fetched),
        prefetches_(prefetches),
        puts_(puts),
        accumulates_(accumulates) {}

  /// Copies of the array outlive the next barrier. Not with --check and --store=copy.
  void keep(ArrayId array, KeepCopies which);
  /// At the barrier: sums are sent, puts complete, and what does not outlive it is dropped.
  void retain_or_drop();
  /// At the end of the program: nothing outlives it.
  void drop_all();

 private:
  /// Whether a copy outlives the barrier.
  std::optional<CopyEvent> kept_as(CacheEntry& h, KeepCopies which);

  StoreContext& context_;
  RankCache& copies_;
  FetchedBlocks& fetched_;
  PrefetchPool& prefetches_;
  OutgoingPuts& puts_;
  PendingAccumulates& accumulates_;
};

}  // namespace sial
