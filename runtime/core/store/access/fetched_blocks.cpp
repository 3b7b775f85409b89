#include "runtime/core/store/access/fetched_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/base/check.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/store/remote/store_errors.h"

namespace sial {

// A place for the fetched copy. A rank that reads a whole array of another node would otherwise hold all of it until
// the barrier: copies keep to half of the rank's share and leave a quarter of the node's memory to puts.
void FetchedBlocks::take_copy(CacheEntry& h, std::int64_t size) {
  const StoreOptions& options = context_.options;
  const std::uint64_t bytes = static_cast<std::uint64_t>(size) * 8;
  const auto fits = [&] {
    return copies_.bytes() + prefetches_.bytes() + bytes <= options.copy_budget && !context_.memory_is_short(bytes);
  };
  if (!fits()) copies_.evict(std::max(options.min_copies, copies_.live_span()), 256, fits);
  if (!fits()) prefetches_.drop(fits);
  if (!fits()) copies_.evict(options.min_copies, 256, fits);
  copies_.record_size(size);
  h.shared_copy = context_.new_chunk(h.array, h.block, size);
  copies_.add_copy(h);
}

void FetchedBlocks::take_zeros(CacheEntry& h, std::int64_t size) {
  take_copy(h, size);
  if (context_.options.values) std::fill_n(h.shared_copy->data(), size, 0.0);
  context_.heap.changed(h.shared_copy);
}

void FetchedBlocks::drop(CacheEntry& h) {
  if (h.prefetch_id) prefetches_.take_out(h);
  if (h.fetch) {
    h.fetch->wait();
    requests_.end(h, false);
  }
  copies_.drop_value(h);
  copies_.drop_private_copy(h);
  h.record(CopyEvent::drop);
  h.outcome = {};
}

void FetchedBlocks::get(ArrayId id, const BlockIndex& block, std::int64_t size, Place place) {
  ++context_.stats.gets;
  CacheEntry& h = copies_.find_or_create(id, block);
  copies_.record_get(h);
  if (context_.spilled) context_.spilled->area().record_use();
  prefetches_.record_own_blocks();
  if ((h.was_got() || h.private_copy) && (!h.was_put() || fault_enabled(Fault::store_get_after_own_put))) {
    if (h.state == CopyState::evicted && !h.private_copy) fetch_again(h, size);
    return;
  }
  const bool sure = h.state == CopyState::retained;
  if (h.is_retained() && h.shared_copy->doubles == size && (sure || requests_.compare(h, Priority::demand))) {
    if (sure) {
      ++context_.stats.kept_copies;
      context_.stats.bytes_elided += size * 8;
    }
    h.record(CopyEvent::get);
    h.outcome = {};
    h.get_place = place;
    return;
  }
  if (!h.prefetch_id) drop(h);
  start(h, size, place);
}

void FetchedBlocks::start(CacheEntry& h, std::int64_t size, Place place) {
  if (h.pending_accumulate && !fault_enabled(Fault::store_sum_before_get)) accumulates_.send(h);
  if (h.puts_under_way > 0) puts_.complete(h);
  h.record(CopyEvent::get);  // what was sent just now is in what comes
  h.get_place = place;
  const NodeId node = context_.home(h.array, h.block);
  if (context_.homes.is_here(node)) {
    lease(h, size, place);
    if (!h.shared_copy) {
      if (h.outcome.status == BlockStatus::phase_conflict)
        report(context_, h.outcome, RequestKind::get, h.array, h.block, size, place);
      return;
    }
    if (!context_.options.copy) {
      context_.stats.bytes_leased += size * 8;
      context_.log.at(place, h.array).in_place += size * 8;
      return;
    }
    Chunk* lease = h.shared_copy;
    take_copy(h, size);
    if (context_.options.values) std::memcpy(h.shared_copy->data(), lease->data(), static_cast<std::size_t>(size) * 8);
    context_.drop(lease);
    context_.stats.bytes_copied += size * 8;
    context_.log.at(place, h.array).moved += size * 8;
    return;
  }
  if (h.prefetch_id) {
    prefetches_.adopt(h, size);
    return;
  }
  take_copy(h, size);
  requests_.request(h, node, size, context_.access(place), Priority::demand, place.pc);
}

// With tiers a rank's leases keep to a quarter of its memory, where what it works on allows for that: what is leased
// cannot leave.
void FetchedBlocks::lease(CacheEntry& h, std::int64_t size, Place place) {
  Access access = context_.access(place);
  if (!context_.spilled) {
    h.outcome = context_.node.lease(context_.arrays.key(h.array, h.block), size, access, h.shared_copy);
    return;
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(size) * 8;
  copies_.evict_leases(copies_.live_span(),
                       [&] { return copies_.leased_bytes() + bytes <= context_.options.memory_per_rank / 4; });
  access.waits = !context_.options.copy;
  h.outcome = context_.node.lease(context_.arrays.key(h.array, h.block), size, access, h.shared_copy);
  if (h.shared_copy && !context_.options.copy) copies_.add_lease(h);
}

void FetchedBlocks::reload_stale(CacheEntry& h) {
  h.shared_copy = context_.spilled->take_back(std::exchange(h.tier_handle, 0), context_.arrays.key(h.array, h.block));
  copies_.add_lease(h);
}

void FetchedBlocks::end_statement() {
  if (!context_.spilled) return;
  copies_.end_statement();
  const int every = context_.options.spill_every;
  if (every > 0 && ++statements_ % static_cast<std::uint64_t>(every) == 0) {
    copies_.evict_leases(0, [] { return false; });
    copies_.spill_stale(context_.options.memory_per_rank);
    context_.spilled->spill_all();
    return;
  }
  context_.spilled->evict_in_background();
}

void FetchedBlocks::wait_for_tier(const CacheEntry& h, AccessStats& row) {
  const double start = context_.transport.now();
  const Waiting waiting(context_.transport.activity(),
                        wait_for_block(WaitKind::block_in_tier, context_.arrays.number(h.array), h.block));
  context_.spilled->wait_for(h.shared_copy, context_.arrays.key(h.array, h.block));
  const double waited = context_.transport.now() - start;
  if (context_.trace) context_.trace->add(TraceKind::fetch_wait, row.place, start, start + waited);
  ++context_.stats.blocked_accesses;
  ++row.blocked;
  context_.stats.fetch_wait_seconds += waited;
  row.wait_seconds += waited;
}

// The phase rule promises that nobody has written it since. A put by this rank makes the copy stale before it is sent.
void FetchedBlocks::fetch_again(CacheEntry& h, std::int64_t size) { start(h, size, h.get_place); }

/// A rank that waits for a block may hold memory that its owner waits for.
void FetchedBlocks::wait_for(CacheEntry& h) {
  if (h.fetch->test()) return;
  const int owner = context_.homes.server_of(context_.home(h.array, h.block), h.block);
  const Waiting waiting(context_.transport.activity(),
                        wait_for_block(WaitKind::block, context_.arrays.number(h.array), h.block, owner));
  while (prefetches_.bytes() > 0 && context_.more_than_half_in_use() && !h.fetch->test()) {
    if (context_.heap.wanted()) prefetches_.yield();
    context_.transport.pause();
  }
  while (h.incoming && h.incoming->piece() > 0 && !h.fetch->test()) {
    requests_.forward(h);
    context_.transport.pause();
  }
  h.fetch->wait();
  requests_.time_fetch(h);
}

void FetchedBlocks::finish(CacheEntry& h) {
  wait_for(h);
  const ReplyHeader reply = read_reply(h.fetch->reply_header());
  h.outcome = reply.outcome;
  h.home_version = reply.outcome.version;
  if (reply.unchanged) {
    ++context_.stats.kept_copies;
    context_.stats.bytes_elided += h.shared_copy->doubles * 8;
  } else if (h.shared_copy) {
    context_.heap.changed(h.shared_copy);  // a retained copy may have been overwritten by a newer one
  }
  context_.stats.bytes_received += static_cast<std::int64_t>(h.fetch->reply_bytes());
  context_.log.at(h.get_place, h.array).moved += static_cast<std::int64_t>(h.fetch->reply_bytes());
  requests_.end(h, h.outcome.status == BlockStatus::ok);
  if (h.outcome.status == BlockStatus::ok) return;
  const std::int64_t size = h.shared_copy->doubles;
  const bool ask_again = h.origin == CopyOrigin::unread_prefetch;
  copies_.drop_value(h);
  if (ask_again) return start(h, size, h.get_place);
  if (h.outcome.status == BlockStatus::phase_conflict)
    report(context_, h.outcome, RequestKind::get, h.array, h.block, size, h.get_place);
}

void FetchedBlocks::end_comparison(CacheEntry& h) {
  wait_for(h);
  const ReplyHeader reply = read_reply(h.fetch->reply_header());
  context_.stats.bytes_received += static_cast<std::int64_t>(h.fetch->reply_bytes());
  h.fetch.reset();
  h.home_version = reply.outcome.version;
  if (!reply.unchanged) context_.heap.changed(h.shared_copy);
  if (reply.outcome.status == BlockStatus::ok) return;
  h.record(CopyEvent::evict);
  copies_.drop_value(h);
  h.outcome = reply.outcome;
}

const double* FetchedBlocks::read(ArrayId id, const BlockIndex& block, std::int64_t size, Place place) {
  CacheEntry* h = copies_.find(id, block);
  if (!h || !(h->was_got() || h->private_copy)) throw_not_fetched(context_, id, block, place);
  copies_.record_use(*h);
  prefetches_.record_own_blocks();
  if (h->state == CopyState::evicted && !h->private_copy) fetch_again(*h, size);
  if (h->tier_handle != 0 && !h->private_copy) reload_stale(*h);
  const bool first = context_.log.at(place, id).accesses == 0;
  StoreStats& stats = context_.stats;
  ++stats.accesses;
  bool blocked = false;
  double start = 0;
  while (h->fetch) {
    if (!blocked && !h->fetch->test()) {
      blocked = true;
      start = context_.transport.now();
    }
    if (h->is_retained()) end_comparison(*h);
    else finish(*h);
  }
  AccessStats& row = context_.log.at(place, id);
  ++row.accesses;
  row.bytes += size * 8;
  if (context_.placement && h->shared_copy && !context_.placement->same_node(h->shared_copy->arena, context_.arena))
    row.far += size * 8;
  if (blocked) {
    const double waited = context_.transport.now() - start;
    if (context_.trace) context_.trace->add(TraceKind::fetch_wait, place, start, start + waited);
    ++stats.blocked_accesses;
    ++row.blocked;
    stats.fetch_wait_seconds += waited;
    row.wait_seconds += waited;
    if (first) row.first_wait_seconds = waited;
  }
  if (h->origin == CopyOrigin::unread_prefetch && h->shared_copy) {
    h->origin = CopyOrigin::demand;
    ++row.prefetched;
    row.late += blocked ? 1 : 0;
    ++(blocked ? stats.prefetches_late : stats.prefetches_useful);
  }
  copies_.record_read(*h);
  if (context_.spilled && !h->private_copy && h->shared_copy && NodeHeap::is_not_there(h->shared_copy))
    wait_for_tier(*h, row);
  if (!h->private_copy && !h->shared_copy && h->outcome.status == BlockStatus::absent &&
      context_.arrays.at(id).info.sparse)
    take_zeros(*h, size);
  const Chunk* c = h->private_copy ? h->private_copy : h->shared_copy;
  if (!c) report(context_, h->outcome, RequestKind::get, id, block, size, h->get_place);
  if (c->doubles != size)
    report(context_, {BlockStatus::wrong_size, c->doubles, {}}, RequestKind::get, id, block, size, h->get_place);
  return c->data();
}

Place FetchedBlocks::got_at(ArrayId id, const BlockIndex& block) const {
  const CacheEntry* h = copies_.find(id, block);
  return h && h->was_got() && !h->private_copy ? h->get_place : Place{};
}

const double* FetchedBlocks::own_copy(ArrayId id, const BlockIndex& block) const {
  const CacheEntry* h = copies_.find(id, block);
  return h && h->private_copy ? h->private_copy->data() : nullptr;
}

const double* FetchedBlocks::at_hand(ArrayId id, const BlockIndex& block, std::int64_t size) {
  CacheEntry* h = copies_.find(id, block);
  if (!h || !(h->was_got() || h->private_copy)) return nullptr;
  if (!h->private_copy && h->fetch) {
    if (h->is_retained()) return nullptr;
    if (!h->fetch->test()) {
      requests_.forward(*h);
      return nullptr;
    }
    if (read_reply(h->fetch->reply_header()).outcome.status != BlockStatus::ok) return nullptr;
    finish(*h);
  }
  const Chunk* c = h->private_copy ? h->private_copy : h->shared_copy;
  if (context_.spilled && c && NodeHeap::is_not_there(c)) return nullptr;
  return c && c->doubles == size ? c->data() : nullptr;
}

bool FetchedBlocks::held(ArrayId id, const BlockIndex& block) const {
  const CacheEntry* h = copies_.find(id, block);
  return h && (h->was_got() || h->private_copy);
}

double* FetchedBlocks::private_copy(ArrayId id, const BlockIndex& block, std::int64_t size, bool keep, Place place) {
  const double* from = keep ? read(id, block, size, place) : nullptr;
  CacheEntry& h = copies_.find_or_create(id, block);
  if (h.private_copy && h.private_copy->doubles == size) {
    if (context_.heap.sole_reference(h.private_copy)) return h.private_copy->data();
    // A temp or a put shares it: they keep what it was.
    Chunk* fresh = context_.new_chunk(id, block, size);
    if (context_.options.values) std::memcpy(fresh->data(), h.private_copy->data(), static_cast<std::size_t>(size) * 8);
    context_.stats.bytes_copied += size * 8;
    context_.drop(h.private_copy);
    h.private_copy = fresh;
    return fresh->data();
  }
  SIAL_CHECK(!h.private_copy, "block {} with {} and {} elements", block_name(context_.arrays.name(id), block),
             h.private_copy->doubles, size);
  if (h.prefetch_id) prefetches_.abandon(h);
  if (h.state == CopyState::put_retained) copies_.drop_value(h);
  h.record(CopyEvent::write_private);
  h.private_copy = context_.new_chunk(id, block, size);
  if (keep) {
    if (h.place == CopyPlace::device && from == h.shared_copy->data()) requests_.to_host(from, place.pc);
    if (context_.options.values) std::memcpy(h.private_copy->data(), from, static_cast<std::size_t>(size) * 8);
    context_.stats.bytes_copied += size * 8;
    context_.log.at(place, id).moved += size * 8;
  }
  return h.private_copy->data();
}

}  // namespace sial
