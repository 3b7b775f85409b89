#include "runtime/core/store/phases/copy_retention.h"

#include <algorithm>

#include "runtime/core/base/fault_injection.h"

namespace sial {

void CopyRetention::keep(ArrayId id, KeepCopies which) {
  if (context_.options.check || context_.options.copy) return;
  RemoteArray& a = context_.arrays.at(id);
  a.keep = which;
  a.retain_puts = a.retain_puts || which != KeepCopies::unchanged;
}

// Decides by what is known of a copy at a barrier. A block that this rank got in the phase and has not changed since
// was changed by nobody: the phase rule lets no other rank write it, nor one that this rank has put. (A program that
// breaks the rule may read the old value or the new one, as it might have within the phase.) A retained copy that was
// not asked for in the phase may have been passed by, unless the plan vouches for the array: then it is kept with a
// question mark, and the next get compares versions with the owner.
std::optional<CopyEvent> CopyRetention::kept_as(CacheEntry& h, KeepCopies which) {
  if (!h.has_copy()) return std::nullopt;
  if (h.state == CopyState::stale && fault_enabled(Fault::store_kept_stale)) h.state = CopyState::got;
  if (h.state == CopyState::got || h.state == CopyState::put_retained) return CopyEvent::keep;
  if (!h.is_retained()) return std::nullopt;
  if (which == KeepCopies::unchanged) return CopyEvent::keep;
  if (which == KeepCopies::compared && h.home_version != 0) return CopyEvent::keep_unsure;
  return std::nullopt;
}

// The program's plan vouches that the phase that ends has not changed these arrays on any rank, so a copy is the
// block's value still; what the next phase does is up to the phase rule, as for a copy fetched in it. Absent blocks are
// asked for again: only values are kept. A lease costs no message to get anew, and would keep the owner from changing
// the block in place. At most half of what copies may take stays, and only while the node uses no more than a quarter
// of its memory: the rest is for the puts of the phase to come, which cannot make room for themselves where a helper
// receives them.
void CopyRetention::retain_or_drop() {
  std::vector<RemoteArray>& arrays = context_.arrays.all();
  if (std::none_of(arrays.begin(), arrays.end(), [](const RemoteArray& a) { return a.keep.has_value(); })) {
    drop_all();
    return;
  }
  accumulates_.send_all();
  prefetches_.end_phase();
  for (CacheEntry& h : copies_.all()) {
    const std::optional<KeepCopies>& which = context_.arrays.at(h.array).keep;
    if (which && h.is_retained() && h.fetch) fetched_.end_comparison(h);
    while (which && h.fetch) fetched_.finish(h);
    if (const std::optional<CopyEvent> kept = which ? kept_as(h, *which) : std::nullopt) h.record(*kept);
    else fetched_.drop(h);
    copies_.drop_private_copy(h);
    h.got_at = 0;
  }
  puts_.complete_all();
  copies_.leave_retained();
  copies_.evict(0, copies_.listed().size(), [this] {
    return copies_.bytes() <= context_.options.copy_budget / 2 &&
           static_cast<std::uint64_t>(context_.heap.bytes_in_use()) <= context_.heap.budget() / 4;
  });
  for (RemoteArray& a : arrays) a.keep.reset();
}

void CopyRetention::drop_all() {
  accumulates_.send_all();
  prefetches_.end_phase();
  for (CacheEntry& h : copies_.all()) fetched_.drop(h);
  puts_.complete_all();
  copies_.clear();
}

}  // namespace sial
