#pragma once
// Gets and reads: leases of blocks of this node, copies of other nodes' blocks, private copies. A get takes over what
// was prefetched, and waits for this rank's own changes of the block first. Used by the rank's thread.

#include "runtime/core/base/ids.h"
#include "runtime/core/store/interface/fetch.h"
#include "runtime/core/store/remote/pending_accumulates.h"
#include "runtime/core/store/remote/prefetch_pool.h"

namespace sial {

class FetchedBlocks final : public BlockFetch {
 public:
  FetchedBlocks(StoreContext& context, RankCache& copies, BlockRequests& requests, PrefetchPool& prefetches,
                OutgoingPuts& puts, PendingAccumulates& accumulates)
      : context_(context),
        copies_(copies),
        requests_(requests),
        prefetches_(prefetches),
        puts_(puts),
        accumulates_(accumulates) {}

  void get(ArrayId array, const BlockIndex& block, std::int64_t size, Place place) override;
  const double* read(ArrayId array, const BlockIndex& block, std::int64_t size, Place place) override;
  bool held(ArrayId array, const BlockIndex& block) const override;
  const double* at_hand(ArrayId array, const BlockIndex& block, std::int64_t size) override;
  Place got_at(ArrayId array, const BlockIndex& block) const override;
  void end_statement() override;
  const double* own_copy(ArrayId array, const BlockIndex& block) const override;
  double* private_copy(ArrayId array, const BlockIndex& block, std::int64_t size, bool keep, Place place) override;

  /// Waits for what is on its way; where a prefetch found nothing the block is on its way again afterwards, on demand.
  void finish(CacheEntry& h);
  /// Waits for the answer whether a retained copy is the block's value still, where no get has joined that question.
  void end_comparison(CacheEntry& h);
  /// For a block whose copy was evicted.
  void fetch_again(CacheEntry& h, std::int64_t size);
  /// The rank holds nothing of it any more.
  void drop(CacheEntry& h);

 private:
  void start(CacheEntry& h, std::int64_t size, Place place);
  void wait_for(CacheEntry& h);
  void take_copy(CacheEntry& h, std::int64_t size);
  void lease(CacheEntry& h, std::int64_t size, Place place);
  void reload_stale(CacheEntry& h);
  /// A copy of a block that a sparse array does not have.
  void take_zeros(CacheEntry& h, std::int64_t size);
  void wait_for_tier(const CacheEntry& h, AccessStats& row);

  StoreContext& context_;
  RankCache& copies_;
  BlockRequests& requests_;
  PrefetchPool& prefetches_;
  OutgoingPuts& puts_;
  PendingAccumulates& accumulates_;
  std::uint64_t statements_ = 0;  // with StoreOptions::spill_every
};

}  // namespace sial
