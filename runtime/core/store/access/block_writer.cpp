#include "runtime/core/store/access/block_writer.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/base/check.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/store/remote/store_errors.h"

namespace sial {

CacheEntry* BlockWriter::before_own_put(ArrayId id, const BlockIndex& block, std::int64_t size) {
  CacheEntry* h = copies_.find(id, block);
  if (context_.spilled) context_.spilled->area().record_use();
  prefetches_.record_own_blocks();
  if (!h) return nullptr;
  if (h->prefetch_id && !h->was_got()) prefetches_.abandon(*h);
  if (h->is_retained() && h->fetch) fetched_.end_comparison(*h);
  if ((h->is_retained() || h->state == CopyState::put_retained) && !fault_enabled(Fault::store_kept_after_own_put)) {
    h->record(CopyEvent::evict);
    copies_.drop_value(*h);
  }
  if (h->state == CopyState::evicted && !h->private_copy) fetched_.fetch_again(*h, size);
  while (h->fetch) fetched_.finish(*h);  // its value is the one from before this put
  h->record(CopyEvent::put);
  return h;
}

void BlockWriter::modify(RequestKind kind, ArrayId id, const BlockIndex& block, std::int64_t size, const double* data,
                         double value, Place place, bool shared) {
  stored_ = {};
  if (context_.options.check) {
    if (data) check_finite(context_, id, block, size, data, place);
    else if (size > 0) check_finite(context_, id, block, 1, &value, place);
  }
  RequestHeader request;
  request.kind = kind;
  request.key = context_.arrays.key(id, block);
  request.size = size;
  request.value = value;
  request.access = context_.access(place);
  CacheEntry* h = before_own_put(id, block, size);
  if (h && h->pending_accumulate && !fault_enabled(Fault::store_sum_before_put)) accumulates_.send(*h);
  const NodeId node = context_.home(id, block);
  const bool here = context_.homes.is_here(node);
  if (data && !(shared && here)) context_.log.at(place, id).moved += size * 8;
  if (!here) {
    CacheEntry& entry = h ? *h : copies_.find_or_create(id, block);
    modify_remote(entry, node, request, data, shared);
    return;
  }
  NodeBlocks& blocks = context_.node;
  Outcome outcome;
  switch (kind) {
    case RequestKind::put:
      outcome = shared ? blocks.put_alias(request.key, Chunk::of(data), request.access)
                       : blocks.put(request.key, size, data, request.access);
      break;
    case RequestKind::accumulate: outcome = blocks.accumulate(request.key, size, data, nullptr, request.access); break;
    case RequestKind::fill: outcome = blocks.fill(request.key, size, value, request.access); break;
    case RequestKind::increment: outcome = blocks.increment(request.key, size, value, request.access); break;
    default: outcome = blocks.scale(request.key, size, value, request.access); break;
  }
  if (data && !shared) record_stored();
  report(context_, outcome, kind, id, block, size, place);
}

// Sent from a copy, or from memory that nobody writes while it is shared, so that the caller may go on.
void BlockWriter::modify_remote(CacheEntry& h, NodeId node, const RequestHeader& request, const double* data,
                                bool shared) {
  Chunk* payload = nullptr;
  if (data && shared) {
    payload = Chunk::of(data);
    context_.heap.add_reference(payload);
  } else if (data && request.size > 0) {
    payload = context_.new_chunk(h.array, h.block, request.size);
    if (context_.options.values) std::memcpy(payload->data(), data, static_cast<std::size_t>(request.size) * 8);
    context_.stats.bytes_copied += request.size * 8;
  }
  if (payload && request.kind == RequestKind::put && retain_put(h, payload))
    stored_ = {payload->data(), payload->content.load(std::memory_order_relaxed)};
  puts_.send(h, node, request, payload);
}

bool BlockWriter::leaves_node(ArrayId id, const BlockIndex& block) {
  return !context_.options.check && !context_.options.copy && !context_.homes.is_here(context_.home(id, block));
}

// A put whose values the plan wants kept for a later get goes through the host, where they are kept.
void BlockWriter::put_from(std::unique_ptr<OutgoingBlock> values, bool add, ArrayId id, const BlockIndex& block,
                           std::int64_t size, Place place) {
  ++(add ? context_.stats.accumulates : context_.stats.puts);
  stored_ = {};
  RequestHeader request;
  request.kind = add ? RequestKind::accumulate : RequestKind::put;
  request.key = context_.arrays.key(id, block);
  request.size = size;
  request.access = context_.access(place);
  CacheEntry* held = before_own_put(id, block, size);
  if (held && held->pending_accumulate && !fault_enabled(Fault::store_sum_before_put)) accumulates_.send(*held);
  context_.log.at(place, id).moved += size * 8;
  CacheEntry& h = held ? *held : copies_.find_or_create(id, block);
  const NodeId node = context_.home(id, block);
  if (add || !context_.arrays.at(id).retain_puts) {
    if (const double* there = values->in_place())
      return puts_.send(h, node, request, nullptr, std::move(values), there);
  }
  Chunk* payload = context_.new_chunk(id, block, size);
  values->copy_to(payload->data());
  if (!add) retain_put(h, payload);
  puts_.send(h, node, request, payload, std::move(values));
}

void BlockWriter::put(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  ++context_.stats.puts;
  modify(RequestKind::put, id, block, size, data, 0, place);
}

void BlockWriter::put_alias(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  ++context_.stats.puts;
  SIAL_CHECK(Chunk::of(data)->doubles == size, "a buffer of {} elements shared as a block of {}",
             Chunk::of(data)->doubles, size);
  modify(RequestKind::put, id, block, size, data, 0, place, !context_.options.copy);
}

void BlockWriter::accumulate(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  ++context_.stats.accumulates;
  modify(RequestKind::accumulate, id, block, size, data, 0, place);
}

void BlockWriter::fill(ArrayId id, const BlockIndex& block, std::int64_t size, double value, Place place) {
  ++context_.stats.scalar_puts;
  modify(RequestKind::fill, id, block, size, nullptr, value, place);
}

void BlockWriter::increment(ArrayId id, const BlockIndex& block, std::int64_t size, double value, Place place) {
  ++context_.stats.scalar_puts;
  modify(RequestKind::increment, id, block, size, nullptr, value, place);
}

void BlockWriter::scale(ArrayId id, const BlockIndex& block, std::int64_t size, double value, Place place) {
  ++context_.stats.scalar_puts;
  modify(RequestKind::scale, id, block, size, nullptr, value, place);
}

// --- sums

void BlockWriter::accumulate_later(ArrayId id, const BlockIndex& block, std::int64_t size, const double* data,
                                   Place place) {
  const StoreOptions& options = context_.options;
  if (options.check || options.copy || options.deterministic) {
    accumulate(id, block, size, data, place);
    return;
  }
  stored_ = {};
  StoreStats& stats = context_.stats;
  ++stats.accumulates;
  const bool elsewhere = !context_.homes.is_here(context_.home(id, block));
  CacheEntry* h = before_own_put(id, block, size);
  if (h && h->pending_accumulate && h->pending_accumulate->doubles != size)
    accumulates_.send(*h);  // the owner says what is wrong with it
  if (h && h->pending_accumulate) {
    double* sum = h->pending_accumulate->data();
    for (std::int64_t i = 0; context_.options.values && i < size; ++i) sum[i] += data[i];
    ++stats.combined_accumulates;
    if (elsewhere) stats.bytes_elided += size * 8;
    return;
  }
  const auto bytes = static_cast<std::uint64_t>(size) * 8;
  const bool room = accumulates_.has_room(bytes);
  if (!elsewhere) {
    const BlockKey key = context_.arrays.key(id, block);
    Outcome outcome;
    const bool done =
        room ? context_.node.try_accumulate(key, size, data, context_.access(place), outcome)
             : (outcome = context_.node.accumulate(key, size, data, nullptr, context_.access(place)), true);
    report(context_, outcome, RequestKind::accumulate, id, block, size, place);
    if (done) {
      record_stored();
      context_.log.at(place, id).moved += size * 8;
      return;
    }
  } else if (!room) {
    RequestHeader request;
    request.kind = RequestKind::accumulate;
    request.key = context_.arrays.key(id, block);
    request.size = size;
    request.access = context_.access(place);
    context_.log.at(place, id).moved += size * 8;
    modify_remote(copies_.find_or_create(id, block), context_.home(id, block), request, data, false);
    return;
  }
  accumulates_.make_room(bytes);
  Chunk* sum = context_.new_chunk(id, block, size);
  if (context_.options.values) std::copy_n(data, size, sum->data());
  stats.bytes_copied += size * 8;
  context_.log.at(place, id).moved += size * 8;
  accumulates_.add(copies_.find_or_create(id, block), sum, place);
}

// --- puts that are kept or share

// Only where nothing this rank may still read has to make room: a block got before shows its old value up to the next
// get.
bool BlockWriter::retain_put(CacheEntry& h, Chunk* payload) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(payload->doubles) * 8;
  if (!context_.arrays.at(h.array).retain_puts || h.was_got() || h.private_copy || h.shared_copy) return false;
  if (copies_.bytes() + prefetches_.bytes() + bytes > context_.options.copy_budget / 2 ||
      4 * static_cast<std::uint64_t>(context_.heap.bytes_in_use()) > context_.heap.budget())
    return false;
  context_.heap.add_reference(payload);
  h.shared_copy = payload;
  h.record(CopyEvent::retain_put);
  copies_.record_retained();
  copies_.record_use(h);
  copies_.add_copy(h);
  return true;
}

// Both blocks may be read and changed independently from here on: whoever changes a shared value gets another first, as
// with leases and snapshots. A private copy is not shared: the rank may write it again.
bool BlockWriter::put_held(ArrayId id, const BlockIndex& block, std::int64_t size, ArrayId from,
                           const BlockIndex& from_block, Place place) {
  if (context_.options.check || context_.options.copy || !context_.homes.is_here(context_.home(id, block)))
    return false;
  const CacheEntry* source = copies_.find(from, from_block);
  if (!source || !source->was_got() || source->private_copy || !source->shared_copy || source->fetch ||
      source->has_copy() || source->shared_copy->doubles != size)
    return false;
  Chunk* value = source->shared_copy;
  ++context_.stats.puts;
  if (CacheEntry* h = before_own_put(id, block, size); h && h->pending_accumulate) accumulates_.send(*h);
  const Outcome outcome = context_.node.put_leased(context_.arrays.key(id, block), value,
                                                   context_.arrays.key(from, from_block), context_.access(place));
  report(context_, outcome, RequestKind::put, id, block, size, place);
  ++context_.stats.shared_puts;
  return true;
}

}  // namespace sial
