#include "runtime/core/store/remote/pending_accumulates.h"

#include "runtime/core/base/check.h"
#include "runtime/core/store/remote/store_errors.h"

namespace sial {

void PendingAccumulates::make_room(std::uint64_t bytes) {
  while (bytes_ + bytes > budget_ && !accumulates_.empty()) send(*accumulates_.front());
}

void PendingAccumulates::add(CacheEntry& h, Chunk* sum, Place place) {
  h.pending_accumulate = sum;
  h.accumulate_place = place;
  h.record(CopyEvent::put);
  accumulates_.push_back(&h);
  bytes_ += static_cast<std::uint64_t>(sum->doubles) * 8;
}

void PendingAccumulates::send(CacheEntry& h) {
  Chunk* sum = h.pending_accumulate;
  SIAL_CHECK(sum, "no sum for block {}", block_name(context_.arrays.name(h.array), h.block));
  h.pending_accumulate = nullptr;
  std::erase(accumulates_, &h);
  bytes_ -= static_cast<std::uint64_t>(sum->doubles) * 8;
  RequestHeader request;
  request.kind = RequestKind::accumulate;
  request.key = context_.arrays.key(h.array, h.block);
  request.size = sum->doubles;
  request.access = context_.access(h.accumulate_place);
  const NodeId node = context_.home(h.array, h.block);
  if (context_.homes.is_here(node)) {
    const Outcome outcome = context_.node.accumulate(request.key, request.size, sum->data(), sum, request.access);
    report(context_, outcome, request.kind, h.array, h.block, request.size, h.accumulate_place);
    return;
  }
  puts_.send(h, node, request, sum);
}

void PendingAccumulates::send_all() {
  while (!accumulates_.empty()) send(*accumulates_.front());
}

void PendingAccumulates::relieve() {
  if (!accumulates_.empty() && context_.memory_is_short(0)) send_all();
}

// Called when a request for memory found none, perhaps while this rank has a block of its own node under lock: sums for
// this node stay where they are.
bool PendingAccumulates::reclaim(std::uint64_t bytes) {
  if (reclaiming_) return false;
  reclaiming_ = true;
  std::uint64_t freed = 0;
  for (std::size_t i = 0; i < accumulates_.size() && freed < bytes;) {
    CacheEntry& h = *accumulates_[i];
    if (context_.homes.is_here(context_.home(h.array, h.block))) {
      ++i;
      continue;
    }
    freed += static_cast<std::uint64_t>(h.pending_accumulate->doubles) * 8;
    send(h);
  }
  if (freed > 0) puts_.complete_all();
  reclaiming_ = false;
  return freed > 0;
}

}  // namespace sial
