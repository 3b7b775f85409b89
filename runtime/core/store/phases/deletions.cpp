#include "runtime/core/store/phases/deletions.h"

namespace sial {

void Deletions::erase(ArrayId id, Place place) {
  // Other ranks may still use this generation; nothing of this rank may be on its way to it when it is counted out.
  for (CacheEntry& h : copies_.all()) {
    if (h.array != id) continue;
    if (h.pending_accumulate) accumulates_.send(h);
    fetched_.drop(h);
  }
  prefetches_.complete_abandoned();
  puts_.complete(id);
  RemoteArray& a = context_.arrays.at(id);
  a.keep.reset();
  const std::uint64_t number = context_.arrays.number(id);
  requests_.advance(number, a.generation);
  requests_.wait_until_freed(number, a.generation);
  ++a.generation;
  a.restored_from.clear();
  a.discarded_before = 0;
  a.deleted = place;
  hash_ = mix_hash(hash_, static_cast<std::uint64_t>(id.number()) + 1);
}

}  // namespace sial
