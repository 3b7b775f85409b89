#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/plants.h"
#include "runtime/store/store_impl.h"

namespace sial {

namespace {

const char* verb(RequestKind kind) {
  switch (kind) {
    case RequestKind::get: return "get";
    case RequestKind::put: return "put =";
    case RequestKind::accumulate: return "put +=";
    case RequestKind::fill: return "put = of a scalar";
    case RequestKind::increment: return "put += of a scalar";
    case RequestKind::scale: return "put *= of a scalar";
    default: return "use";
  }
}

const char* verb(BlockUse use) {
  return use == BlockUse::get ? "get" : use == BlockUse::put ? "put =" : "put +=";
}

/// `now` is the verb of the second statement, which stands at `place`.
std::string phase_remedy(const EarlierUse& earlier, const std::string& now, Place place) {
  const std::string rule = "between barriers a block is either read by any worker, or added to with put += by any worker, or used by a single worker";
  if (earlier.place == place)
    return fmt::format("iterations of one pardo, or of successive ones without a barrier between them, use the same block: {}; {}",
                       now == "get" ? "put a sip_barrier between the pardos" : "add with put +=, or let the pardo run over the block's own indices only", rule);
  if (earlier.place.program == place.program && earlier.place.pc > place.pc)
    return "put a sip_barrier between the two statements; where there is one and they belong to successive iterations of a loop, another one at the end of the loop: " + rule;
  return "put a sip_barrier between the two statements: " + rule;
}

}  // namespace

Chunk* StoreImpl::new_chunk(std::int32_t id, const BlockIndex& block, std::int64_t size) {
  return heap_->allocate(config_.arena, size, [&] { return "block " + block_name(name(id), block); });
}

std::string StoreImpl::deletion(std::int32_t id) {
  const std::optional<Place>& deleted = array(id).deleted;
  return deleted ? fmt::format("array {} was deleted at {}", name(id), at(*deleted)) : std::string();
}

void StoreImpl::report(const Outcome& outcome, RequestKind kind, std::int32_t id, const BlockIndex& block, std::int64_t size, Place place) {
  if (outcome.status == BlockStatus::ok) return;
  const std::string what = block_name(name(id), block);
  switch (outcome.status) {
    case BlockStatus::absent:
      if (kind == RequestKind::scale)
        throw SialError(fmt::format("block {} cannot be scaled: it does not exist", what),
                        fmt::format("put {} = ... first: only put = and put += create a block", what), at(place));
      if (const std::string deleted = deletion(id); !deleted.empty())
        throw SialError(fmt::format("block {} does not exist: {}, and the block was not written between that and the last barrier (get at {})", what, deleted,
                                    at(place)),
                        fmt::format("move the `delete` behind the last get of {}, or put {} again, with a sip_barrier between the put and the get", name(id), what));
      throw SialError(fmt::format("block {} does not exist: it was never written before the last barrier (get at {})", what, at(place)),
                      fmt::format("put {} before getting it, with a sip_barrier between the put and the get", what));
    case BlockStatus::wrong_size: {
      const std::string& label = array(id).restored_from;
      throw SialError(fmt::format("block {} has {} elements, but this program's declaration of {} gives it {} ({} at {})", what, outcome.size,
                                  name(id), size, verb(kind), at(place)),
                      label.empty() ? "all statements must use the block with the same index ranges"
                                    : fmt::format("{} was restored from label \"{}\": both programs must declare the array with the same segments", name(id), label));
    }
    case BlockStatus::phase_conflict: {
      const EarlierUse& e = outcome.earlier;
      throw SialError(fmt::format("block {}: {} by rank {} at {} and {} by rank {} at {} in the same phase", what, verb(e.use), e.rank, at(e.place),
                                  verb(kind), transport_.rank(), at(place)),
                      phase_remedy(e, verb(kind), place));
    }
    case BlockStatus::ok: break;
  }
}

void StoreImpl::check_finite(std::int32_t id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  for (std::int64_t i = 0; i < size; ++i)
    if (!std::isfinite(data[i]))
      throw SialError(fmt::format("{} put into block {} at {} (element {} of {})", std::isnan(data[i]) ? "NaN" : "infinity",
                                  block_name(name(id), block), at(place), i + 1, size),
                      "look for a division by zero, an undefined element or a missing assignment in what was put", at(place));
}

// --- gets

void StoreImpl::drop_value(HeldBlock& h) {
  if (!h.value) return;
  h.elsewhere = false;
  if (h.prefetched) count_unused(h);
  if (h.copied) copied_bytes_ -= static_cast<std::uint64_t>(h.value->doubles) * 8;
  heap_->drop_reference(h.value, config_.arena);
  h.value = nullptr;
  h.copied = h.unsure = h.own_put = false;
  h.home_version = 0;
}

// A place for the fetched copy. A rank that reads a whole array of another node would otherwise hold all of it until the
// barrier: copies keep to half of the rank's share and leave a quarter of the node's memory to puts.
void StoreImpl::take_copy(HeldBlock& h, std::int64_t size) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(size) * 8;
  const auto fits = [&] {
    return copied_bytes_ + ahead_bytes_ + bytes <= options_.copy_budget &&
           node_in_use() + bytes <= heap_->budget() - heap_->budget() / 4;
  };
  if (!fits()) evict_copies(std::max(options_.copies_kept, live_span_), 256, fits);
  if (!fits()) drop_ahead(fits);
  if (!fits()) evict_copies(options_.copies_kept, 256, fits);
  largest_copy_ = std::max(largest_copy_, NodeHeap::chunk_bytes(size));
  h.value = new_chunk(h.array, h.block, size);
  h.copied = true;
  copied_bytes_ += bytes;
  list_copy(h);
}

void StoreImpl::list_copy(HeldBlock& h) {
  if (!h.listed) copies_.push_back(&h);
  h.listed = true;
  heap_->hold(config_.arena);
}

bool StoreImpl::evict_copies(std::uint64_t keep, std::size_t look_at, const std::function<bool()>& enough) {
  bool any = false;
  for (std::size_t left = std::min(look_at, copies_.size()); left > 0 && !enough(); --left) {
    HeldBlock& h = *copies_.front();
    copies_.pop_front();
    if (!h.value || !h.copied) {
      h.listed = false;
      continue;
    }
    // A stale one shows the value from before this rank's put, which cannot be fetched any more.
    const bool wanted_soon = keep > operands_in_use && h.wanted > clock_;
    if (h.fetch || (h.stale && !h.own_put) || h.touched + keep > clock_ || wanted_soon) {
      copies_.push_back(&h);
      continue;
    }
    h.evicted = !h.kept && !h.own_put;  // nobody has asked for it in this phase yet
    drop_value(h);
    h.listed = false;
    h.kept = false;
    any = true;
  }
  return any;
}

void StoreImpl::let_go(HeldBlock& h) {
  if (h.ahead) {
    if (h.fetch) await(h);
    leave_ahead(h);
    end_fetch(h, false);
    h.prefetched = true;
  }
  if (h.fetch) {
    await(h);
    end_fetch(h, false);
  }
  drop_value(h);
  if (h.own) heap_->drop_reference(h.own, config_.arena);
  h.own = nullptr;
  h.fetched = h.stale = h.evicted = h.kept = false;
  h.outcome = {};
}

void StoreImpl::get(std::int32_t id, const BlockIndex& block, std::int64_t size, Place place) {
  ++stats_.gets;
  HeldBlock& h = held_.find_or_create(id, block);
  h.touched = h.got = ++clock_;
  note_own_blocks();
  if ((h.fetched || h.own) && (!h.stale || planted(Plant::store_get_after_own_put))) {
    if (h.evicted && !h.own) fetch_again(h, size);
    return;
  }
  if (h.kept && h.value->doubles == size && (!h.unsure || compare(h, Priority::demand))) {
    if (!h.unsure) {
      ++stats_.kept_copies;
      stats_.bytes_elided += size * 8;
    }
    h.kept = h.unsure = false;
    h.fetched = true;
    h.outcome = {};
    h.get_place = place;
    return;
  }
  if (!h.ahead) let_go(h);
  start_fetch(h, size, place);
}

void StoreImpl::start_fetch(HeldBlock& h, std::int64_t size, Place place) {
  if (h.sum && !planted(Plant::store_sum_before_get)) send_sum(h);
  if (h.puts_under_way > 0) outbox_->complete(h.array, h.block);
  h.fetched = true;
  h.get_place = place;
  const int node = home(array(h.array).placement, h.block);
  if (node == transport_.node()) {
    h.outcome = node_->lease(key(h.array, h.block), size, access(place), h.value);
    if (!h.value) {
      if (h.outcome.status == BlockStatus::phase_conflict) report(h.outcome, RequestKind::get, h.array, h.block, size, place);
      return;
    }
    if (!options_.copy) {
      stats_.bytes_leased += size * 8;
      access_log_.at(place, h.array).in_place += size * 8;
      return;
    }
    Chunk* lease = h.value;
    take_copy(h, size);
    std::memcpy(h.value->data(), lease->data(), static_cast<std::size_t>(size) * 8);
    heap_->drop_reference(lease, config_.arena);
    stats_.bytes_copied += size * 8;
    access_log_.at(place, h.array).moved += size * 8;
    return;
  }
  if (h.ahead) {
    adopt(h, size);
    return;
  }
  take_copy(h, size);
  request_block(h, node, size, access(place), Priority::demand, place.pc);
}

/// Into `value`.
void StoreImpl::request_block(HeldBlock& h, int node, std::int64_t size, const Access& access, Priority priority, std::int32_t get, std::uint64_t known_version) {
  RequestHeader request;
  request.kind = RequestKind::get;
  request.key = key(h.array, h.block);
  request.size = size;
  request.known_version = known_version;
  request.access = access;
  h.issued = transport_.now();
  if (incoming_ && known_version == 0 && !array(h.array).on_host_only) h.incoming = incoming_->place_for(get, h.array, h.block, h.value->data());
  double* there = h.incoming ? h.incoming->place() : nullptr;
  const std::span<double> to(there ? there : h.value->data(), static_cast<std::size_t>(size));
  h.fetch = transport_.request(server_of(node, h.block), to_bytes(request), {}, ReplyBuffer(std::as_writable_bytes(to), h.incoming ? h.incoming->piece() : 0), priority);
  ++stats_.messages_sent;
}

void StoreImpl::end_fetch(HeldBlock& h, bool has_come) {
  h.fetch.reset();
  if (!h.incoming) return;
  if (has_come) {
    h.elsewhere = h.incoming->place() != nullptr;
    h.incoming->arrived();
  }
  h.incoming.reset();
}

void StoreImpl::set_incoming(IncomingPlaces* places) noexcept {
  incoming_ = places;
  if (places) return;
  for (HeldBlock& h : held_.all()) {
    if (!h.incoming) continue;
    if (h.ahead) {
      abandon(h);
      continue;
    }
    end_fetch(h, false);
    drop_value(h);
    h.evicted = true;  // asked for again where it is still wanted
  }
  std::erase_if(abandoned_, [&](Abandoned& a) {
    if (!a.incoming) return false;
    a.request.reset();
    in_flight_bytes_ -= NodeHeap::chunk_bytes(a.buffer->doubles);
    heap_->drop_reference(a.buffer, config_.arena);
    return true;
  });
}

// The phase rule promises that nobody has written it since. A put by this rank makes the copy stale before it is sent.
void StoreImpl::fetch_again(HeldBlock& h, std::int64_t size) {
  h.evicted = false;
  start_fetch(h, size, h.get_place);
}

/// Waits for what is on its way; where a prefetch found nothing the block is on its way again afterwards, on demand.
void StoreImpl::finish_fetch(HeldBlock& h) {
  wait_for(h);
  const ReplyHeader reply = read_reply(h.fetch->reply_header());
  h.outcome = reply.outcome;
  h.home_version = reply.outcome.version;
  if (reply.unchanged) {
    ++stats_.kept_copies;
    stats_.bytes_elided += h.value->doubles * 8;
  } else if (h.value) {
    heap_->changed(h.value);  // a kept copy may have been overwritten by a newer one
  }
  stats_.bytes_received += static_cast<std::int64_t>(h.fetch->reply_bytes());
  access_log_.at(h.get_place, h.array).moved += static_cast<std::int64_t>(h.fetch->reply_bytes());
  end_fetch(h, h.outcome.status == BlockStatus::ok);
  if (h.outcome.status == BlockStatus::ok) return;
  const std::int64_t size = h.value->doubles;
  const bool ask_again = h.prefetched;
  drop_value(h);
  if (ask_again) return start_fetch(h, size, h.get_place);
  if (h.outcome.status == BlockStatus::phase_conflict) report(h.outcome, RequestKind::get, h.array, h.block, size, h.get_place);
}

const double* StoreImpl::read(std::int32_t id, const BlockIndex& block, std::int64_t size, Place place) {
  HeldBlock* h = held_.find(id, block);
  if (!h || !(h->fetched || h->own)) {
    const std::string what = block_name(name(id), block);
    if (const std::string deleted = deletion(id); !deleted.empty())
      throw SialError(fmt::format("block {} was not fetched in this phase, after {}", what, deleted),
                      fmt::format("a delete drops all fetched blocks: move it behind the last use of {}, or put {} again and get it", name(id), what), at(place));
    throw SialError(fmt::format("block {} was not fetched in this phase", what),
                    fmt::format("get {} before using it (request, for served arrays); a barrier drops all fetched blocks", what), at(place));
  }
  h->touched = ++clock_;
  note_own_blocks();
  if (h->evicted && !h->own) fetch_again(*h, size);
  const bool first = access_log_.at(place, id).accesses == 0;
  ++stats_.accesses;
  bool blocked = false;
  double start = 0;
  while (h->fetch) {
    if (!blocked && !h->fetch->test()) {
      blocked = true;
      start = transport_.now();
    }
    if (h->kept) end_comparison(*h);
    else finish_fetch(*h);
  }
  AccessStats& row = access_log_.at(place, id);
  ++row.accesses;
  row.bytes += size * 8;
  if (blocked) {
    const double waited = transport_.now() - start;
    if (trace_) trace_->add(TraceKind::fetch_wait, place, start, start + waited);
    ++stats_.blocked_accesses;
    ++row.blocked;
    stats_.fetch_wait_seconds += waited;
    row.wait_seconds += waited;
    if (first) row.first_wait_seconds = waited;
  }
  if (h->prefetched && h->value) {
    h->prefetched = false;
    ++row.prefetched;
    row.late += blocked ? 1 : 0;
    ++(blocked ? stats_.prefetches_late : stats_.prefetches_useful);
  }
  if (h->got > 0) live_span_ = std::max(live_span_, clock_ - h->got);
  const Chunk* c = h->own ? h->own : h->value;
  if (!c) report(h->outcome, RequestKind::get, id, block, size, h->get_place);
  if (c->doubles != size) report({BlockStatus::wrong_size, c->doubles, {}}, RequestKind::get, id, block, size, h->get_place);
  return c->data();
}

Place StoreImpl::got_at(std::int32_t id, const BlockIndex& block) const {
  const HeldBlock* h = held_.find(id, block);
  return h && h->fetched && !h->own ? h->get_place : Place{};
}

const double* StoreImpl::own_copy(std::int32_t id, const BlockIndex& block) const {
  const HeldBlock* h = held_.find(id, block);
  return h && h->own ? h->own->data() : nullptr;
}

const double* StoreImpl::at_hand(std::int32_t id, const BlockIndex& block, std::int64_t size) {
  HeldBlock* h = held_.find(id, block);
  if (!h || !(h->fetched || h->own)) return nullptr;
  if (!h->own && h->fetch) {
    if (h->kept) return nullptr;
    if (!h->fetch->test()) {
      pass_on(*h);
      return nullptr;
    }
    if (read_reply(h->fetch->reply_header()).outcome.status != BlockStatus::ok) return nullptr;
    finish_fetch(*h);
  }
  const Chunk* c = h->own ? h->own : h->value;
  return c && c->doubles == size ? c->data() : nullptr;
}

bool StoreImpl::held(std::int32_t id, const BlockIndex& block) const {
  const HeldBlock* h = held_.find(id, block);
  return h && (h->fetched || h->own);
}

double* StoreImpl::private_copy(std::int32_t id, const BlockIndex& block, std::int64_t size, bool keep, Place place) {
  const double* from = keep ? read(id, block, size, place) : nullptr;
  HeldBlock& h = held_.find_or_create(id, block);
  if (h.own && h.own->doubles == size) {
    if (heap_->sole_reference(h.own)) return h.own->data();
    // A temp or a put shares it: they keep what it was.
    Chunk* fresh = new_chunk(id, block, size);
    std::memcpy(fresh->data(), h.own->data(), static_cast<std::size_t>(size) * 8);
    stats_.bytes_copied += size * 8;
    heap_->drop_reference(h.own, config_.arena);
    h.own = fresh;
    return fresh->data();
  }
  SIAL_CHECK(!h.own, "block {} with {} and {} elements", block_name(name(id), block), h.own->doubles, size);
  if (h.ahead) abandon(h);
  if (!h.fetched) h.stale = false;  // a put before it is no reason to fetch over it
  h.own = new_chunk(id, block, size);
  if (keep) {
    if (h.elsewhere && from == h.value->data()) incoming_->to_host(from);
    std::memcpy(h.own->data(), from, static_cast<std::size_t>(size) * 8);
    stats_.bytes_copied += size * 8;
    access_log_.at(place, id).moved += size * 8;
  }
  return h.own->data();
}

// --- puts

HeldBlock* StoreImpl::before_own_put(std::int32_t id, const BlockIndex& block, std::int64_t size) {
  HeldBlock* h = held_.find(id, block);
  note_own_blocks();
  if (!h) return nullptr;
  if (h->ahead && !h->fetched) abandon(*h);
  if (h->kept && h->fetch) end_comparison(*h);
  if ((h->kept || h->own_put) && !planted(Plant::store_kept_after_own_put)) {
    drop_value(*h);
    h->kept = false;
  }
  if (h->evicted && !h->own) fetch_again(*h, size);
  while (h->fetch) finish_fetch(*h);  // its value is the one from before this put
  h->stale = true;
  return h;
}

void StoreImpl::modify(RequestKind kind, std::int32_t id, const BlockIndex& block, std::int64_t size, const double* data, double value, Place place,
                       bool shared) {
  stored_ = {};
  if (options_.check) {
    if (data) check_finite(id, block, size, data, place);
    else if (size > 0) check_finite(id, block, 1, &value, place);
  }
  RequestHeader request;
  request.kind = kind;
  request.key = key(id, block);
  request.size = size;
  request.value = value;
  request.access = access(place);
  HeldBlock* h = before_own_put(id, block, size);
  if (h && h->sum && !planted(Plant::store_sum_before_put)) send_sum(*h);
  const int node = home(array(id).placement, block);
  if (data && !(shared && node == transport_.node())) access_log_.at(place, id).moved += size * 8;
  if (node != transport_.node()) {
    HeldBlock& entry = h ? *h : held_.find_or_create(id, block);
    modify_remote(entry, node, request, data, shared);
    return;
  }
  Outcome outcome;
  switch (kind) {
    case RequestKind::put:
      outcome = shared ? node_->put_shared(request.key, Chunk::of(data), request.access) : node_->put(request.key, size, data, request.access);
      break;
    case RequestKind::accumulate: outcome = node_->accumulate(request.key, size, data, nullptr, request.access); break;
    case RequestKind::fill: outcome = node_->fill(request.key, size, value, request.access); break;
    case RequestKind::increment: outcome = node_->increment(request.key, size, value, request.access); break;
    default: outcome = node_->scale(request.key, size, value, request.access); break;
  }
  if (data && !shared) note_stored();
  report(outcome, kind, id, block, size, place);
}

// Sent from a copy, or from memory that nobody writes while it is shared, so that the caller may go on. Messages to one node may overtake each other: an operation whose order
// matters waits for those before it.
void StoreImpl::modify_remote(HeldBlock& h, int node, const RequestHeader& request, const double* data, bool shared) {
  Chunk* payload = nullptr;
  if (data && shared) {
    payload = Chunk::of(data);
    heap_->add_reference(payload);
  } else if (data && request.size > 0) {
    payload = new_chunk(h.array, h.block, request.size);
    std::memcpy(payload->data(), data, static_cast<std::size_t>(request.size) * 8);
    stats_.bytes_copied += request.size * 8;
  }
  if (payload && request.kind == RequestKind::put && retain_put(h, payload)) stored_ = {payload->data(), payload->content.load(std::memory_order_relaxed)};
  send_change(h, node, request, payload);
}

void StoreImpl::send_change(HeldBlock& h, int node, const RequestHeader& request, Chunk* data, std::unique_ptr<OutgoingBlock> outgoing,
                            const double* in_place) {
  const bool orderless = request.kind == RequestKind::accumulate || request.kind == RequestKind::increment;
  if (h.puts_under_way > 0 && !(orderless && h.orderless) && !planted(Plant::store_order_of_puts)) outbox_->complete(h.array, h.block);
  Outbox::Item item;
  item.array = h.array;
  item.header = request;
  item.payload = data;
  item.outgoing = std::move(outgoing);
  if (data) item.bytes = data->bytes;
  else if (in_place) item.bytes = static_cast<std::uint64_t>(request.size) * 8;
  Payload payload;
  if ((data || in_place) && request.size > 0) {
    payload = {std::as_bytes(std::span(in_place ? in_place : data->data(), static_cast<std::size_t>(request.size))), item.outgoing.get()};
    stats_.bytes_sent += request.size * 8;
  }
  h.stale = true;
  h.orderless = orderless;
  ++h.puts_under_way;
  ++stats_.messages_sent;
  item.request = transport_.request(server_of(node, h.block), to_bytes(request), payload, {}, Priority::demand);
  outbox_->post(std::move(item));
}

bool StoreImpl::leaves_node(std::int32_t id, const BlockIndex& block) {
  return !options_.check && !options_.copy && home(array(id).placement, block) != transport_.node();
}

// A put whose values the plan wants kept for a later get goes through the host, where they are kept.
void StoreImpl::put_from(std::unique_ptr<OutgoingBlock> values, bool add, std::int32_t id, const BlockIndex& block, std::int64_t size, Place place) {
  ++(add ? stats_.accumulates : stats_.puts);
  stored_ = {};
  RequestHeader request;
  request.kind = add ? RequestKind::accumulate : RequestKind::put;
  request.key = key(id, block);
  request.size = size;
  request.access = access(place);
  HeldBlock* held = before_own_put(id, block, size);
  if (held && held->sum && !planted(Plant::store_sum_before_put)) send_sum(*held);
  access_log_.at(place, id).moved += size * 8;
  HeldBlock& h = held ? *held : held_.find_or_create(id, block);
  const int node = home(array(id).placement, block);
  if (add || !array(id).retain_puts) {
    if (const double* there = values->in_place()) return send_change(h, node, request, nullptr, std::move(values), there);
  }
  Chunk* payload = new_chunk(id, block, size);
  values->copy_to(payload->data());
  if (!add) retain_put(h, payload);
  send_change(h, node, request, payload, std::move(values));
}

void StoreImpl::put(std::int32_t id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  ++stats_.puts;
  modify(RequestKind::put, id, block, size, data, 0, place);
}

void StoreImpl::put_shared(std::int32_t id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  ++stats_.puts;
  SIAL_CHECK(Chunk::of(data)->doubles == size, "a buffer of {} elements shared as a block of {}", Chunk::of(data)->doubles, size);
  modify(RequestKind::put, id, block, size, data, 0, place, !options_.copy);
}

void StoreImpl::accumulate(std::int32_t id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  ++stats_.accumulates;
  modify(RequestKind::accumulate, id, block, size, data, 0, place);
}

void StoreImpl::fill(std::int32_t id, const BlockIndex& block, std::int64_t size, double value, Place place) {
  ++stats_.scalar_puts;
  modify(RequestKind::fill, id, block, size, nullptr, value, place);
}

void StoreImpl::increment(std::int32_t id, const BlockIndex& block, std::int64_t size, double value, Place place) {
  ++stats_.scalar_puts;
  modify(RequestKind::increment, id, block, size, nullptr, value, place);
}

void StoreImpl::scale(std::int32_t id, const BlockIndex& block, std::int64_t size, double value, Place place) {
  ++stats_.scalar_puts;
  modify(RequestKind::scale, id, block, size, nullptr, value, place);
}

}  // namespace sial
