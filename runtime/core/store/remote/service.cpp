#include "runtime/core/store/remote/service.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "runtime/core/base/check.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/store/interface/monitor.h"

namespace sial {

std::string block_name(const std::string& array, const BlockIndex& block) {
  std::string s = array + "[";
  for (int d = 0; d < block.rank; ++d) s += fmt::format("{}{}", d ? "," : "", block.segment[d]);
  return s + "]";
}

void ArrayNames::set(std::uint64_t array, const std::string& name) {
  const std::lock_guard guard(mutex_);
  names_[array] = name;
}

void ArrayNames::set_places(PlaceNamer places) {
  const std::lock_guard guard(mutex_);
  places_ = std::move(places);
}

std::string ArrayNames::place(Place place) const {
  const std::lock_guard guard(mutex_);
  return places_ ? places_(place) : std::string();
}

std::string ArrayNames::block(const BlockKey& key) const {
  const std::lock_guard guard(mutex_);
  const auto found = names_.find(key.array);
  return block_name(found == names_.end() ? "?" : found->second, key.block);
}

namespace {

NodeBlocks::Config on_helper(NodeBlocks::Config config) {
  config.on_rank_thread = false;
  return config;
}

}  // namespace

StoreService::StoreService(Transport& transport, WorkQueue* queue, std::shared_ptr<NodeHeap> heap, Directory& directory,
                           NodeBlocks::Config config, ArrayNames& names, SpilledBlocks* spilled,
                           const SpilledBlocks* spilled_by_rank)
    : heap_(std::move(heap)),
      arena_(config.arena),
      placement_(config.placement),
      names_(names),
      queue_(queue),
      spilled_(spilled),
      spilled_by_rank_(spilled_by_rank),
      blocks_(
          transport, *heap_, directory, on_helper(config), [this](const BlockKey& key) { return names_.block(key); },
          spilled) {}

/// The message is about another rank's statement: this one's own has nothing to do with it.
OutOfMemory StoreService::of_sender(const OutOfMemory& error, const RequestHeader& request) {
  return {error.wanted(), error.used(), fmt::format("{}; rank {} sent it", error.situation(), request.access.rank),
          error.least(), names_.place(request.access.place)};
}

SpillArea* StoreService::begin_hold() {
  if (!spilled_) return nullptr;
  spilled_->area().begin_hold();
  return &spilled_->area();
}

Chunk* StoreService::allocate(const RequestHeader& request) {
  return heap_->allocate_shared(arena_, arena_for(placement_, request.key, arena_), request.size,
                                [&] { return "block " + names_.block(request.key); });
}

std::span<std::byte> StoreService::payload_buffer(int, std::span<const std::byte> header, std::size_t bytes) {
  const RequestHeader request = read_request(header);
  SIAL_CHECK(bytes == static_cast<std::size_t>(request.size) * sizeof(double), "{} bytes for a block of {} elements",
             bytes, request.size);
  try {
    return {reinterpret_cast<std::byte*>(allocate(request)->data()), bytes};
  } catch (const OutOfMemory& error) { throw of_sender(error, request); }
}

Outcome StoreService::modify(const RequestHeader& r, std::span<std::byte> payload) {
  switch (r.kind) {
    case RequestKind::fill: return blocks_.fill(r.key, r.size, r.value, r.access);
    case RequestKind::increment: return blocks_.increment(r.key, r.size, r.value, r.access);
    case RequestKind::scale: return blocks_.scale(r.key, r.size, r.value, r.access);
    default: break;
  }
  Chunk* arrived = r.size == 0 ? allocate(r) : Chunk::of(payload.data());
  if (r.kind == RequestKind::put) return blocks_.put_chunk(r.key, arrived, r.access);
  return blocks_.accumulate(r.key, r.size, arrived->data(), arrived, r.access);
}

Reply StoreService::list(const RequestHeader& r) {
  const auto all = blocks_.list(r.key.array, r.key.generation);
  const auto first = std::min<std::size_t>(static_cast<std::size_t>(r.size), all.size());
  const auto last = std::min(all.size(), first + static_cast<std::size_t>(rows_per_reply));
  const auto rows = std::make_shared<std::vector<ListedBlock>>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                                               all.begin() + static_cast<std::ptrdiff_t>(last));
  ReplyHeader header;
  header.rows = static_cast<std::int64_t>(all.size());
  return {to_bytes(header), std::as_bytes(std::span(*rows)), [rows] {}};
}

Reply StoreService::tiers() {
  const auto row = std::make_shared<TierStats>();
  if (spilled_) {
    TierStats now;
    add(now, spilled_->counts());
    add(now, spilled_by_rank_->counts());
    *row = now;
    subtract(*row, told_);
    told_ = now;
    row->bytes_high_water = static_cast<std::int64_t>(spilled_->area().bytes_high_water());
  }
  return {to_bytes(ReplyHeader{}), std::as_bytes(std::span(row.get(), 1)), [row] {}};
}

Reply StoreService::serve(int, std::span<const std::byte> header, std::span<std::byte> payload) {
  const auto begin = std::chrono::steady_clock::now();
  Reply reply = answer(header, payload);
  busy_ns_.fetch_add(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count(),
      std::memory_order_relaxed);
  return reply;
}

Reply StoreService::answer(std::span<const std::byte> header, std::span<std::byte> payload) {
  SIAL_CHECK(!header.empty(), "an empty request");
  if (header[0] == work_queue_message) {
    SIAL_CHECK(queue_ != nullptr, "a work queue message, but no queue");
    return serve_work_queue_message(*queue_, header);
  }
  served_.fetch_add(1, std::memory_order_relaxed);
  const RequestHeader r = read_request(header);
  ReplyHeader reply;
  switch (r.kind) {
    case RequestKind::get: {
      Chunk* c = nullptr;
      reply.outcome = blocks_.lease(r.key, r.size, r.access, c);
      if (!c) break;
      reply.unchanged = r.known_version != 0 &&
                        (r.known_version == reply.outcome.version || fault_enabled(Fault::store_kept_compared));
      if (reply.unchanged) {
        heap_->drop_reference(c, arena_);
        break;
      }
      return {to_bytes(reply), std::as_bytes(std::span(c->data(), static_cast<std::size_t>(c->doubles))),
              [heap = heap_, c, arena = arena_, area = begin_hold()] {
                heap->drop_reference(c, arena);
                if (area) area->end_hold();
              }};
    }
    case RequestKind::record_get: {
      Chunk* c = nullptr;
      reply.outcome = blocks_.lease(r.key, r.size, r.access, c);
      if (c) heap_->drop_reference(c, arena_);
      break;
    }
    case RequestKind::node_advanced: blocks_.node_advanced(r.key.array, r.key.generation); break;
    case RequestKind::transfer:
      blocks_.transfer(r.key.array, r.key.generation, r.to_array, r.to_generation, r.move);
      break;
    case RequestKind::drop: blocks_.drop(r.key.array, r.key.generation); break;
    case RequestKind::apply_contributions: blocks_.apply_contributions(); break;
    case RequestKind::memory_peak: reply.rows = heap_->close_shared(); break;
    case RequestKind::announce: names_.set(r.key.array, r.name); break;
    case RequestKind::list: return list(r);
    case RequestKind::tiers: return tiers();
    default: try { reply.outcome = modify(r, payload);
      } catch (const OutOfMemory& error) { throw of_sender(error, r); }
  }
  return {to_bytes(reply), {}, {}};
}

}  // namespace sial
