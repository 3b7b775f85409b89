#pragma once
// Memory for a rank that finds none: what it holds for its own convenience goes, cheapest first. Called by the heap on
// the rank's thread, in the middle of whatever asked for memory.

#include "runtime/core/store/access/fetched_blocks.h"

namespace sial {

class MemoryRelief {
 public:
  MemoryRelief(StoreContext& context, RankCache& copies, FetchedBlocks& fetched, PrefetchPool& prefetches,
               PendingAccumulates& accumulates)
      : context_(context), copies_(copies), fetched_(fetched), prefetches_(prefetches), accumulates_(accumulates) {}

  /// False: there is nothing left to give.
  bool reclaim(std::uint64_t bytes);
  /// With tiers, when nothing else is left: blocks go there, first those that this rank does not hold.
  bool spill(std::uint64_t bytes);

 private:
  StoreContext& context_;
  RankCache& copies_;
  FetchedBlocks& fetched_;
  PrefetchPool& prefetches_;
  PendingAccumulates& accumulates_;
};

}  // namespace sial
