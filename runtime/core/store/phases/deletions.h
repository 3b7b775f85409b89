#pragma once
// delete, destroy: this rank leaves a generation of an array, each rank at its own time, and begins the next one. Keeps
// a number that says what this rank has deleted, for the ranks to compare at the barrier. Used by the rank's thread.

#include "runtime/core/base/ids.h"
#include "runtime/core/store/access/fetched_blocks.h"
#include "runtime/core/store/remote/array_requests.h"

namespace sial {

class Deletions {
 public:
  Deletions(StoreContext& context, RankCache& copies, FetchedBlocks& fetched, PrefetchPool& prefetches,
            OutgoingPuts& puts, PendingAccumulates& accumulates, ArrayRequests& requests)
      : context_(context),
        copies_(copies),
        fetched_(fetched),
        prefetches_(prefetches),
        puts_(puts),
        accumulates_(accumulates),
        requests_(requests) {}

  void erase(ArrayId array, Place place);
  /// Hash of the generations that this rank has left in the program.
  std::uint64_t hash() const { return hash_; }
  void end_program() { hash_ = 0; }

 private:
  StoreContext& context_;
  RankCache& copies_;
  FetchedBlocks& fetched_;
  PrefetchPool& prefetches_;
  OutgoingPuts& puts_;
  PendingAccumulates& accumulates_;
  ArrayRequests& requests_;
  std::uint64_t hash_ = 0;
};

}  // namespace sial
