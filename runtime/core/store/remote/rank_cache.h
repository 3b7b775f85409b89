#pragma once
// The blocks that this rank holds in the present phase, and the order in which its fetched copies go when memory is
// short. Every held block has at most one value (a lease, or a copy that counts for the rank's budget) and one private
// copy; both are references that this table owns. Fetched copies stand in a list, roughly by age; a clock of gets and
// reads says which were used last. Used by the rank's thread.

#include <algorithm>
#include <deque>
#include <functional>

#include "runtime/core/base/ids.h"
#include "runtime/core/store/local/cache_table.h"
#include "runtime/core/store/remote/context.h"

namespace sial {

class RankCache {
 public:
  /// The limit where nobody says when statements end: blocks touched so recently that a statement may hold a pointer to
  /// them. The operands of one, with room to spare.
  static constexpr std::uint64_t operands_in_use = 16;

  explicit RankCache(StoreContext& context) : context_(context), several_nodes_(context.transport.node_count() > 1) {}

  CacheEntry* find(ArrayId id, const BlockIndex& block) const { return held_.find(id, block); }
  CacheEntry& find_or_create(ArrayId id, const BlockIndex& block) { return held_.find_or_create(id, block); }
  std::deque<CacheEntry>& all() { return held_.all(); }
  /// Fetched copies, roughly by age; some may have gone.
  const std::deque<CacheEntry*>& listed() const { return copies_; }

  // --- when
  std::uint64_t clock() const { return clock_; }
  void record_use(CacheEntry& h) { h.touched = ++clock_; }
  /// Counts it as used last, without a use: a message about its value is being sent, by the present statement.
  void protect(CacheEntry& h) const { h.touched = clock_ + 1; }
  void record_get(CacheEntry& h) { h.touched = h.got_at = ++clock_; }
  void record_read(const CacheEntry& h) {
    if (h.got_at > 0) live_span_ = std::max(live_span_, clock_ - h.got_at);
  }
  /// The longest time in this phase from a get to the last read: so many copies are in use at once.
  std::uint64_t live_span() const { return live_span_; }

  /// So many of the last gets and uses, and of the blocks touched by them somebody may hold a pointer.
  std::uint64_t in_use() const { return context_.spilled ? clock_ - statement_ : operands_in_use; }

  /// A statement has ended: nobody holds a pointer to a block any more. Called with tiers only.
  void end_statement() {
    statement_ = clock_;
    if (!leases_.empty()) record_reclaimable_lease();
  }

  // --- leases: with tiers they are given up like copies, since nobody's block can leave the node's memory before
  void add_lease(CacheEntry& h);
  std::uint64_t leased_bytes() const { return leased_bytes_; }
  /// Gives leases up, those listed for longest first, until `enough`; never one that this statement has used, nor one
  /// of the `keep` uses before it. True when any was.
  bool evict_leases(std::uint64_t keep, const std::function<bool()>& enough);
  /// Spills values from before this rank's own puts, about so many bytes: they cannot be fetched any more, and may
  /// be read up to the next get. True when any was.
  bool spill_stale(std::uint64_t bytes);

  // --- how much
  std::uint64_t bytes() const { return copied_bytes_; }
  std::uint64_t largest() const { return largest_; }
  void record_size(std::int64_t doubles) { largest_ = std::max(largest_, NodeHeap::chunk_bytes(doubles)); }
  /// Bytes of the rank's own blocks.
  std::int64_t own_blocks() const {
    return context_.heap.own_in_use(context_.arena) - static_cast<std::int64_t>(copied_bytes_);
  }

  // --- values
  /// `shared_copy` is a copy from now on, counted and listed.
  void add_copy(CacheEntry& h);
  void drop_value(CacheEntry& h);
  void drop_private_copy(CacheEntry& h);
  /// A block that was fetched ahead, or is still to be used for the first time: its prefetch has been of no use.
  void count_unused(CacheEntry& h);
  /// Evicts fetched copies, those untouched for longest first, until `enough`; never one that a statement may be
  /// working on (the `keep` touched last), nor one that could not be had again as it is. Looks at so many at most.
  void evict(std::uint64_t keep, std::size_t look_at, const std::function<bool()>& enough);
  /// When others on the node wait for memory: evicts all copies but those that a statement may be working on. May be
  /// called wherever the rank waits, in the midst of any function of the store: the list stays as it is.
  void give();
  /// The rank does not wait for others any more, and gives nothing back.
  void clear_reclaimable();

  // --- retained copies
  void record_retained() { holds_retained_ = true; }
  /// Copies that nobody has asked for in this phase go when memory gets short, before others have to wait for it.
  void evict_retained_if_short() {
    if (holds_retained_ && context_.more_than_half_in_use()) evict_retained();
  }

  // --- end of a phase
  void clear();
  /// Only kept blocks stay, at new places; those touched last go last.
  void leave_retained();
  void begin_spans() { live_span_ = 0; }

 private:
  void evict_retained();
  bool may_go(const CacheEntry& h, std::uint64_t keep) const;
  void evict(CacheEntry& h);
  void record_reclaimable();
  void record_reclaimable_lease() {
    if (!reclaimable_) context_.heap.set_reclaimable(context_.arena, reclaimable_ = true);
  }

  StoreContext& context_;
  const bool several_nodes_;  // whose puts arrive whatever this rank does
  CacheTable held_;
  std::deque<CacheEntry*> copies_, leases_;
  std::uint64_t clock_ = 0, copied_bytes_ = 0, largest_ = 0, live_span_ = 0;
  std::uint64_t leased_bytes_ = 0, statement_ = 0;  // the second: the clock when the present statement began
  bool holds_retained_ = false;                     // perhaps
  bool reclaimable_ = false;  // there may be copies to give back: as NodeHeap::set_reclaimable() has it
};

}  // namespace sial
