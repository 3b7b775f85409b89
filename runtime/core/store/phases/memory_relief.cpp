#include "runtime/core/store/phases/memory_relief.h"

#include <algorithm>

namespace sial {

bool MemoryRelief::reclaim(std::uint64_t bytes) {
  const auto held = [&] { return copies_.bytes() + prefetches_.bytes(); };
  const std::uint64_t before = held();
  const auto enough = [&] { return before - held() >= bytes; };
  prefetches_.drop(enough);
  if (!enough()) copies_.evict(copies_.in_use(), copies_.listed().size(), enough);
  if (before > held()) return true;
  if (accumulates_.reclaim(bytes)) return true;
  // The last resort: replies to gets need no memory at their owners, so that they arrive whatever happens.
  for (CacheEntry* h : copies_.listed()) {
    if (!h->is_retained() || !h->fetch) continue;
    fetched_.end_comparison(*h);
    if (h->is_retained()) h->record(CopyEvent::evict);
    copies_.drop_value(*h);
    return true;
  }
  return prefetches_.wait_and_drop();
}

bool MemoryRelief::spill(std::uint64_t bytes) {
  if (!context_.spilled) return false;
  if (context_.spilled->make_room(bytes)) return true;
  for (const std::uint64_t keep : {copies_.live_span(), std::uint64_t{0}}) {
    const std::uint64_t before = copies_.leased_bytes();
    copies_.evict_leases(keep, [&] { return before - copies_.leased_bytes() >= bytes; });
    if (copies_.leased_bytes() < before && context_.spilled->make_room(bytes)) return true;
  }
  if (copies_.spill_stale(std::max<std::uint64_t>(bytes, context_.options.memory_per_rank / 16))) {
    context_.spilled->wait_for_write();
    return true;
  }
  copies_.clear_reclaimable();
  return false;
}

}  // namespace sial
