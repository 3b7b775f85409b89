#include "runtime/core/store/remote/prefetch_pool.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/store/remote/store_errors.h"

namespace sial {

Prefetch PrefetchPool::record_too_large(ArrayId id, std::int64_t size, Place get) {
  const StoreOptions& options = context_.options;
  AccessStats& row = context_.log.at(get, id);
  ++row.too_large;
  row.too_large_bytes = std::max(row.too_large_bytes, size * 8);
  const double share =
      static_cast<double>(NodeHeap::chunk_bytes(size)) / static_cast<double>(options.copy_budget / max_prefetch_part);
  row.enough_memory = std::max(
      row.enough_memory, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(options.memory_per_rank))));
  return Prefetch::too_big;
}

Prefetch PrefetchPool::prefetch(ArrayId id, const BlockIndex& block, std::int64_t size, Place get) {
  /// Copies that the look-ahead has met are wanted soon: they are kept as if they were read so many uses from now.
  constexpr std::uint64_t soon = 256;
  const NodeId node = context_.home(id, block);
  if (context_.homes.is_here(node)) return context_.spilled ? read_ahead(id, block) : Prefetch::here;
  CacheEntry* h = copies_.find(id, block);
  if (h) {
    if (h->private_copy || h->was_put() || h->prefetch_id || h->puts_under_way > 0) return Prefetch::held;
    if (h->state == CopyState::retained_unsure && !h->fetch && !no_prefetch_ && h->shared_copy->doubles == size &&
        requests_.compare(*h, Priority::prefetch)) {
      h->wanted = copies_.clock() + soon;
      h->origin = CopyOrigin::unread_prefetch;
      ++context_.stats.prefetches;
      context_.stats.prefetch_bytes += size * 8;
      return Prefetch::started;
    }
    if (h->is_retained() || h->state == CopyState::got) {
      h->wanted = copies_.clock() + soon;
      return Prefetch::held;
    }
  }
  const std::uint64_t bytes = NodeHeap::chunk_bytes(size);
  if (bytes > context_.options.copy_budget / max_prefetch_part) return record_too_large(id, size, get);
  if (context_.heap.wanted()) yield();
  if (no_prefetch_ || !has_room(bytes)) return Prefetch::full;
  Chunk* chunk = context_.heap.try_allocate_spare(context_.arena, size);
  if (!chunk) return Prefetch::full;
  if (!h) h = &copies_.find_or_create(id, block);
  h->shared_copy = chunk;
  h->prefetch_id = ++number_;
  prefetched_.push_back({h, h->prefetch_id});
  prefetched_bytes_ += bytes;
  in_flight_bytes_ += bytes;
  ++context_.stats.prefetches;
  context_.stats.prefetch_bytes += size * 8;
  Access unseen = context_.access({});
  unseen.checked = false;
  unseen.is_prefetch = true;
  requests_.request(*h, node, size, unseen, Priority::prefetch, get.pc);
  return Prefetch::started;
}

Prefetch PrefetchPool::read_ahead(ArrayId id, const BlockIndex& block) {
  const CacheEntry* h = copies_.find(id, block);
  if (h && (h->shared_copy || h->private_copy || h->was_put())) return Prefetch::here;
  return read_ahead_at_home(id, block);
}

// With `deterministic` contributions wait for the barrier, and what they are added to is not needed before.
Prefetch PrefetchPool::prefetch_to_change(ArrayId id, const BlockIndex& block) {
  if (!context_.spilled || context_.options.deterministic || !context_.homes.is_here(context_.home(id, block)))
    return Prefetch::here;
  return read_ahead_at_home(id, block);
}

Prefetch PrefetchPool::read_ahead_at_home(ArrayId id, const BlockIndex& block) {
  switch (context_.node.prefetch(context_.arrays.key(id, block))) {
    case NodeBlocks::PrefetchOutcome::started: return Prefetch::started;
    case NodeBlocks::PrefetchOutcome::full: return Prefetch::full;
    case NodeBlocks::PrefetchOutcome::here: break;
  }
  return Prefetch::here;
}

double PrefetchPool::fetch_seconds(std::int64_t bytes) const {
  const double remote = requests_.seconds(bytes);
  if (!context_.spilled) return remote;
  const TierSpeed speed = context_.spilled->area().tiers().front()->speed();
  const double moves = speed.read_bandwidth > 0 ? static_cast<double>(bytes) / speed.read_bandwidth : 0;
  return std::max(remote, speed.latency + moves);
}

std::size_t PrefetchPool::horizon() const {
  return context_.spilled && context_.spilled->has_been_short() ? uses_foreseen : 0;
}

std::int64_t PrefetchPool::bytes_ahead() const {
  return horizon() == 0 ? BlockLookAhead::bytes_ahead()
                        : static_cast<std::int64_t>(context_.options.memory_per_rank / part_read_ahead);
}

// The clock of the node goes on with the gets and puts of all its ranks.
std::optional<std::uint64_t> PrefetchPool::set_next_use(ArrayId id, const BlockIndex& block, std::uint64_t uses_away,
                                                        ForeseenUse use, std::uint64_t told) {
  if (!context_.spilled || !context_.homes.is_here(context_.home(id, block))) return 0;
  if (use == ForeseenUse::accumulate && context_.options.deterministic) uses_away = 0;
  return context_.node.set_next_use(context_.arrays.key(id, block),
                                    uses_away * static_cast<std::uint64_t>(context_.transport.node_size()), use, told);
}

BlockLookAhead::Foreseen PrefetchPool::foreseen(ArrayId id, const BlockIndex& block, std::int64_t size, bool briefly) {
  NodeHeap& heap = context_.heap;
  // A rank that holds it might hold it from others, who then write to a copy.
  const std::uint64_t room = heap.budget() / (briefly ? 16 : 2);
  if (heap.wanted() ||
      static_cast<std::uint64_t>(heap.bytes_in_use()) + std::max<std::uint64_t>(room, NodeHeap::chunk_bytes(size)) >
          heap.budget())
    return {};
  CacheEntry* h = copies_.find(id, block);
  Chunk* c = nullptr;
  if (h && (h->private_copy || h->was_put() || h->pending_accumulate || h->puts_under_way > 0))
    return {};                                           // the get, or the use, is of something else
  if (briefly && h && h->fetch) return {nullptr, true};  // not worth asking the network whether it has come
  if (h && h->prefetch_id) {
    if (h->fetch && !h->fetch->test()) {
      requests_.forward(*h);
      return {nullptr, true};
    }
    if (h->fetch) land(*h);
    c = h->shared_copy;
  } else if (h && (h->was_got() || h->state == CopyState::retained)) {
    if (h->fetch) {
      requests_.forward(*h);
      return {nullptr, true};
    }
    c = h->shared_copy;  // null: given up for want of memory, or there is none
  } else if (const BlockKey k = context_.arrays.key(id, block);
             context_.homes.is_here(context_.home(id, block)) && !context_.options.copy) {
    bool locked = false;
    c = context_.node.present(k, locked);
    if (locked) return {nullptr, true};
    if (!c || c->doubles == size) return {c ? c->data() : nullptr, false};
    context_.drop(c);
    return {};
  }
  if (!c || c->doubles != size) return {};
  heap.add_reference(c);
  return {c->data(), false};
}

void PrefetchPool::set_incoming(IncomingPlaces* places) noexcept {
  requests_.set_places(places);
  if (places) return;
  for (CacheEntry& h : copies_.all()) {
    if (!h.incoming) continue;
    if (h.prefetch_id) {
      abandon(h);
      continue;
    }
    requests_.end(h, false);
    copies_.drop_value(h);
    h.record(CopyEvent::evict);  // asked for again where it is still wanted
  }
  std::erase_if(abandoned_, [&](Abandoned& a) {
    if (!a.incoming) return false;
    a.request.reset();
    finish(a);
    return true;
  });
}

bool PrefetchPool::has_room(std::uint64_t bytes) {
  const NodeHeap& heap = context_.heap;
  const std::uint64_t budget = context_.options.copy_budget;
  const auto too_much_under_way = [&] { return in_flight_bytes_ > 0 && in_flight_bytes_ + bytes > budget / 8; };
  if (too_much_under_way()) land_some();
  if (too_much_under_way() || prefetched_bytes_ + bytes > budget / 2) return false;
  if (!live_set_known_ && 4 * (prefetched_bytes_ + bytes) > budget - std::min(budget, copies_.bytes())) return false;
  const std::uint64_t live = std::min(copies_.live_span() * copies_.largest(), budget / 2);
  const std::int64_t reserve =
      std::max<std::int64_t>(0, own_blocks_high_ - copies_.own_blocks()) + static_cast<std::int64_t>(bytes);
  const auto fits = [&] {
    return std::max(copies_.bytes(), live) + prefetched_bytes_ + bytes <= budget &&
           heap.bytes_in_use() + reserve <= static_cast<std::int64_t>(heap.budget() / 2) &&
           heap.arena_in_use(context_.arena) + reserve <= static_cast<std::int64_t>(heap.arena_budget() / 2);
  };
  if (!fits() && live_set_known_) copies_.evict(std::max(copies_.in_use() + 1, copies_.live_span()), 64, fits);
  return fits();
}

void PrefetchPool::leave(CacheEntry& h) {
  const std::uint64_t bytes = NodeHeap::chunk_bytes(h.shared_copy->doubles);
  prefetched_bytes_ -= bytes;
  if (h.fetch) in_flight_bytes_ -= bytes;
  h.prefetch_id = 0;
}

void PrefetchPool::adopt(CacheEntry& h, std::int64_t size) {
  const std::uint64_t number = h.prefetch_id;
  leave(h);
  // Gets come in the order in which they were foreseen: what should have been asked for before this one will not be.
  for (; !prefetched_.empty() && prefetched_.front().number <= number; prefetched_.pop_front())
    if (is_pending(prefetched_.front())) abandon(*prefetched_.front().block);
  context_.heap.keep(h.shared_copy);
  h.origin = CopyOrigin::unread_prefetch;
  h.outcome = {};
  copies_.record_size(h.shared_copy->doubles);
  copies_.add_copy(h);
  if (h.fetch) h.fetch->raise();
  else context_.log.at(h.get_place, h.array).moved += h.shared_copy->doubles * 8;
  if (context_.options.check) requests_.record_get(h, size);
}

void PrefetchPool::drop_unused(CacheEntry& h) {
  leave(h);
  h.origin = CopyOrigin::unread_prefetch;
  copies_.drop_value(h);
}

void PrefetchPool::abandon(CacheEntry& h) {
  if (!h.fetch) return drop_unused(h);
  abandoned_.push_back({std::move(h.incoming), std::move(h.fetch), h.shared_copy});
  const std::uint64_t bytes = NodeHeap::chunk_bytes(h.shared_copy->doubles);
  prefetched_bytes_ -= bytes;  // still under way
  h.prefetch_id = 0;
  copies_.count_unused(h);
  h.shared_copy = nullptr;
}

void PrefetchPool::take_out(CacheEntry& h) {
  if (h.fetch) h.fetch->wait();
  leave(h);
  requests_.end(h, false);
  h.origin = CopyOrigin::unread_prefetch;
}

void PrefetchPool::finish(Abandoned& a) {
  in_flight_bytes_ -= NodeHeap::chunk_bytes(a.buffer->doubles);
  context_.drop(a.buffer);
}

void PrefetchPool::land(CacheEntry& h) {
  const Outcome outcome = read_reply(h.fetch->reply_header()).outcome;
  h.home_version = outcome.version;
  context_.stats.bytes_received += static_cast<std::int64_t>(h.fetch->reply_bytes());
  in_flight_bytes_ -= NodeHeap::chunk_bytes(h.shared_copy->doubles);
  requests_.end(h, outcome.status == BlockStatus::ok);
  if (outcome.status != BlockStatus::ok) drop_unused(h);
}

void PrefetchPool::land_some() {
  std::erase_if(abandoned_, [&](Abandoned& a) {
    if (!a.request->test()) return false;
    finish(a);
    return true;
  });
  for (const Prefetched& a : prefetched_) {
    if (!is_pending(a) || !a.block->fetch) continue;
    if (!a.block->fetch->test()) return requests_.forward(*a.block);
    land(*a.block);
  }
}

void PrefetchPool::drop(const std::function<bool()>& enough) {
  for (std::size_t i = prefetched_.size(); i-- > 0 && !enough();)
    if (is_pending(prefetched_[i]) && !prefetched_[i].block->fetch) drop_unused(*prefetched_[i].block);
  while (!prefetched_.empty() && !is_pending(prefetched_.back())) prefetched_.pop_back();
}

void PrefetchPool::yield() {
  no_prefetch_ = true;
  copies_.give();
  if (prefetched_bytes_ + in_flight_bytes_ == 0) return;
  land_some();
  drop([] { return false; });
}

bool PrefetchPool::wait_and_drop() {
  no_prefetch_ = no_prefetch_ || prefetched_bytes_ + in_flight_bytes_ > 0;
  if (!abandoned_.empty()) {
    complete_abandoned();
    return true;
  }
  for (const Prefetched& a : prefetched_) {
    if (!is_pending(a)) continue;
    a.block->fetch->wait();
    land(*a.block);
    if (a.block->prefetch_id) drop_unused(*a.block);
    return true;
  }
  return false;
}

void PrefetchPool::end_phase() {
  for (const Prefetched& a : prefetched_)
    if (is_pending(a)) abandon(*a.block);
  complete_abandoned();
  prefetched_.clear();
  copies_.begin_spans();
  own_blocks_high_ = 0;
  live_set_known_ = no_prefetch_ = false;
}

void PrefetchPool::complete_abandoned() {
  for (Abandoned& a : abandoned_) {
    a.request->wait();
    finish(a);
  }
  abandoned_.clear();
}

}  // namespace sial
