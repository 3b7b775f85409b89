#include "runtime/core/store/remote/rank_cache.h"

#include <utility>

namespace sial {

void RankCache::add_copy(CacheEntry& h) {
  h.kind = CopyKind::copy;
  copied_bytes_ += static_cast<std::uint64_t>(h.shared_copy->doubles) * 8;
  if (h.list != CopyList::copies) copies_.push_back(&h);
  h.list = CopyList::copies;
  record_reclaimable();
}

void RankCache::count_unused(CacheEntry& h) {
  ++context_.stats.prefetches_useless;
  context_.stats.prefetch_bytes_useless += h.shared_copy->doubles * 8;
  h.origin = CopyOrigin::demand;
}

void RankCache::add_lease(CacheEntry& h) {
  h.kind = CopyKind::reclaimable_lease;
  leased_bytes_ += static_cast<std::uint64_t>(h.shared_copy->doubles) * 8;
  if (h.list != CopyList::leases) leases_.push_back(&h);
  h.list = CopyList::leases;
  record_reclaimable_lease();
}

bool RankCache::evict_leases(std::uint64_t keep, const std::function<bool()>& enough) {
  bool any = false;
  for (std::size_t left = leases_.size(); left > 0 && !enough(); --left) {
    CacheEntry& h = *leases_.front();
    leases_.pop_front();
    const bool goes = h.has_reclaimable_lease();
    if (goes && (h.was_put() || h.touched > statement_ || h.touched + keep > clock_)) {
      leases_.push_back(&h);  // a stale one shows the value from before this rank's put
      continue;
    }
    h.list = CopyList::none;
    if (!goes) continue;
    h.record(CopyEvent::evict);
    drop_value(h);
    any = true;
  }
  return any;
}

bool RankCache::spill_stale(std::uint64_t bytes) {
  std::uint64_t gone = 0;
  for (std::size_t left = leases_.size(); left > 0 && gone < bytes; --left) {
    CacheEntry& h = *leases_.front();
    leases_.pop_front();
    leases_.push_back(&h);
    if (!h.has_reclaimable_lease() || !h.was_put() || h.touched > statement_ ||
        !context_.heap.sole_reference(h.shared_copy))
      continue;
    const auto size = static_cast<std::uint64_t>(h.shared_copy->doubles) * 8;
    h.tier_handle = context_.spilled->spill(h.shared_copy, context_.arrays.key(h.array, h.block));
    if (h.tier_handle == 0) break;
    gone += size;
    leased_bytes_ -= size;
    h.shared_copy = nullptr;
    h.kind = CopyKind::lease;
    h.list = CopyList::none;
    leases_.pop_back();
  }
  return gone > 0;
}

void RankCache::drop_value(CacheEntry& h) {
  if (h.tier_handle != 0) context_.spilled->release_tier_copy(std::exchange(h.tier_handle, 0));
  if (!h.shared_copy) return;
  h.place = CopyPlace::host;
  if (h.origin == CopyOrigin::unread_prefetch) count_unused(h);
  if (h.kind == CopyKind::reclaimable_lease) leased_bytes_ -= static_cast<std::uint64_t>(h.shared_copy->doubles) * 8;
  if (h.kind == CopyKind::copy) copied_bytes_ -= static_cast<std::uint64_t>(h.shared_copy->doubles) * 8;
  context_.drop(h.shared_copy);
  h.shared_copy = nullptr;
  h.kind = CopyKind::lease;
  h.home_version = 0;
}

void RankCache::drop_private_copy(CacheEntry& h) {
  if (h.private_copy) context_.drop(h.private_copy);
  h.private_copy = nullptr;
}

bool RankCache::may_go(const CacheEntry& h, std::uint64_t keep) const {
  // A stale one shows the value from before this rank's put, which cannot be fetched any more.
  const bool wanted_soon = keep > in_use() && h.wanted > clock_;
  return !h.fetch && (!h.was_put() || h.state == CopyState::put_retained) && h.touched + keep <= clock_ && !wanted_soon;
}

void RankCache::evict(CacheEntry& h) {
  h.record(CopyEvent::evict);
  drop_value(h);
}

void RankCache::record_reclaimable() {
  if (!reclaimable_ && several_nodes_ && copies_.size() > in_use())
    context_.heap.set_reclaimable(context_.arena, reclaimable_ = true);
}

// Puts of other nodes arrive whatever this rank does, and the helper that receives them may touch nothing that it
// holds.
void RankCache::give() {
  if (!reclaimable_ || !context_.heap.wanted()) return;
  for (CacheEntry* h : copies_)
    if (h->has_copy() && may_go(*h, in_use())) evict(*h);
  evict_leases(0, [] { return false; });
  clear_reclaimable();
}

void RankCache::clear_reclaimable() {
  if (reclaimable_) context_.heap.set_reclaimable(context_.arena, reclaimable_ = false);
}

void RankCache::evict(std::uint64_t keep, std::size_t look_at, const std::function<bool()>& enough) {
  for (std::size_t left = std::min(look_at, copies_.size()); left > 0 && !enough(); --left) {
    CacheEntry& h = *copies_.front();
    copies_.pop_front();
    if (!h.has_copy()) {
      h.list = CopyList::none;
      continue;
    }
    if (!may_go(h, keep)) {
      copies_.push_back(&h);
      continue;
    }
    evict(h);
    h.list = CopyList::none;
  }
  record_reclaimable();
}

void RankCache::evict_retained() {
  for (CacheEntry* h : copies_) {
    if (!(h->is_retained() || h->state == CopyState::put_retained) || h->fetch) continue;
    evict(*h);
  }
  holds_retained_ = false;
}

void RankCache::clear() {
  held_.clear();
  copies_.clear();
  leases_.clear();
  clear_reclaimable();
}

void RankCache::leave_retained() {
  copies_.clear();
  leases_.clear();
  held_.keep_only([](CacheEntry& h) { return h.is_retained(); });
  for (CacheEntry& h : held_.all()) copies_.push_back(&h);
  holds_retained_ = !copies_.empty();
  std::sort(copies_.begin(), copies_.end(),
            [](const CacheEntry* a, const CacheEntry* b) { return a->touched < b->touched; });
}

}  // namespace sial
