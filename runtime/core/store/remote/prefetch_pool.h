#pragma once
// Look-ahead: blocks asked for before their get. What is prefetched is nobody's until a get adopts it: it lies in spare
// memory, counts for no rule, and goes first when memory is short. The memory rule: the copies of fetched blocks that
// an iteration has in use at once (seen in the distance from get to last read) and the rank's own blocks at their
// largest come first; copies that are only kept in case they are read again yield to prefetches; half of the node's
// memory is left to others, twice what copies leave to puts, for a helper that needs memory for another node's put
// cannot evict anything; and what is under way, which cannot be given back at once, is an eighth of the copies' budget.
// So no demand finds memory taken by a prefetch that it needs itself; if it does all the same (another rank of the node
// has grown), the prefetches of all ranks of the node are given up, and none are made until the barrier.
// Used by the rank's thread.

#include <deque>
#include <functional>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/store/interface/look_ahead.h"
#include "runtime/core/store/remote/block_requests.h"
#include "runtime/core/store/remote/rank_cache.h"

namespace sial {

class PrefetchPool final : public BlockLookAhead {
 public:
  PrefetchPool(StoreContext& context, RankCache& copies, BlockRequests& requests)
      : context_(context), copies_(copies), requests_(requests) {}

  Prefetch prefetch(ArrayId array, const BlockIndex& block, std::int64_t size, Place get) override;
  Prefetch prefetch_to_change(ArrayId array, const BlockIndex& block) override;
  Foreseen foreseen(ArrayId array, const BlockIndex& block, std::int64_t size, bool briefly) override;
  void set_live_set_known(bool known) override { live_set_known_ = known; }
  double fetch_seconds(std::int64_t bytes) const override;
  std::size_t horizon() const override;
  std::int64_t bytes_ahead() const override;
  std::optional<std::uint64_t> set_next_use(ArrayId array, const BlockIndex& block, std::uint64_t uses_away,
                                            ForeseenUse use, std::uint64_t told) override;
  void pass_foreseen(std::uint64_t uses) override {
    if (context_.spilled) context_.spilled->area().pass_foreseen(uses);
  }
  void set_incoming(IncomingPlaces* places) noexcept override;

  /// Bytes of prefetched blocks that no get has adopted.
  std::uint64_t bytes() const { return prefetched_bytes_; }
  /// The prefetched value, or what is on its way, is now that of the get.
  void adopt(CacheEntry& h, std::int64_t size);
  /// Nobody wants it any more; what is under way is let come.
  void abandon(CacheEntry& h);
  /// The same, but the answer is waited for: it is as if the block had been fetched and not used.
  void take_out(CacheEntry& h);

  // --- memory
  /// At every get, use and put: the rank's own blocks are measured, and others of the node may have asked for memory.
  void record_own_blocks() {
    own_blocks_high_ = std::max(own_blocks_high_, copies_.own_blocks());
    if (context_.heap.wanted()) yield();
    copies_.evict_retained_if_short();
  }
  /// Drops prefetched blocks that nobody asked for, the one to be used last first, until `enough`.
  void drop(const std::function<bool()>& enough);
  /// Drops all that can be dropped; none are made until the barrier.
  void yield();
  /// For a rank that finds no memory: waits for what cannot be dropped at once. False: there is nothing.
  bool wait_and_drop();
  void complete_abandoned();
  /// Nothing foreseen in this phase is of use in the next one.
  void end_phase();

 private:
  struct Prefetched {
    CacheEntry* block = nullptr;
    std::uint64_t number = 0;
  };
  struct Abandoned {
    std::unique_ptr<IncomingBlock> incoming;
    std::unique_ptr<PendingRequest> request;
    Chunk* buffer = nullptr;
  };

  /// A block may take this part of the copies' budget when it is fetched ahead.
  static constexpr std::uint64_t max_prefetch_part = 4;
  /// With tiers: blocks of the next gets that may be read ahead take this part of a rank's memory.
  static constexpr std::uint64_t part_read_ahead = 16;
  /// With tiers: what next uses are known for. Foreseeing one takes about a microsecond once.
  static constexpr std::size_t uses_foreseen = 32768;

  /// Reads a block of this node that is in a tier.
  Prefetch read_ahead(ArrayId array, const BlockIndex& block);
  Prefetch read_ahead_at_home(ArrayId array, const BlockIndex& block);
  Prefetch record_too_large(ArrayId array, std::int64_t size, Place get);
  bool has_room(std::uint64_t bytes);
  bool is_pending(const Prefetched& a) const { return a.block->prefetch_id == a.number; }
  /// The prefetch has landed; its answer may be that there is no such block.
  void land(CacheEntry& h);
  /// Looks at what was asked for first, up to the first that is still under way.
  void land_some();
  void leave(CacheEntry& h);
  void drop_unused(CacheEntry& h);
  void finish(Abandoned& a);

  StoreContext& context_;
  RankCache& copies_;
  BlockRequests& requests_;
  std::deque<Prefetched> prefetched_;  // prefetches, in the order of the gets to come; some no longer
  std::vector<Abandoned> abandoned_;   // no longer wanted, and still under way
  std::uint64_t number_ = 0, prefetched_bytes_ = 0, in_flight_bytes_ = 0;
  std::int64_t own_blocks_high_ = 0;                   // of this phase, without copies of fetched blocks
  bool live_set_known_ = false, no_prefetch_ = false;  // the latter until the barrier: memory is scarce
};

}  // namespace sial
