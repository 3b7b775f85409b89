#include "runtime/core/store/directory/integral_cache.h"

#include <utility>

namespace sial {

namespace {

BlockKey cache_key(const BlockIndex& block) { return {cache_array, 0, block}; }

}  // namespace

bool drop_cached(Directory& directory, NodeHeap& heap, int arena) {
  if (heap.bytes_cached() == 0) return false;
  Entry* shelf = directory.find_shelf(cache_array, 0);
  bool any = false;
  if (!shelf) return false;
  directory.for_each(shelf, [&](Entry& e) {
    if (!e.lock.try_lock()) return;  // somebody takes a reference: it stays a little longer
    const std::uint64_t at = std::exchange(e.value, 0);
    e.lock.unlock();
    if (at == 0) return;
    heap.drop_reference(heap.chunk(at), arena);
    any = true;
  });
  return any;
}

const double* NodeIntegralCache::find_cached(const BlockIndex& block, std::int64_t size) {
  Entry* e = directory_.find(cache_key(block));
  if (!e) return nullptr;
  const SpinGuard guard(e->lock, [this] { transport_.pause(); });
  Chunk* c = e->value == 0 ? nullptr : heap_.chunk(e->value);
  if (!c || c->doubles != size) return nullptr;
  heap_.add_reference(c);
  return c->data();
}

/// Only while a quarter of the node's memory stays free: what is not kept costs time, what others lack ends the job.
double* NodeIntegralCache::allocate_cached(std::int64_t size) {
  const std::uint64_t bytes = NodeHeap::chunk_bytes(size), budget = heap_.budget(),
                      integral_cache = static_cast<std::uint64_t>(heap_.bytes_cached()) + bytes;
  if (integral_cache + static_cast<std::uint64_t>(heap_.bytes_in_use()) > budget - budget / 4) return nullptr;
  Chunk* c = heap_.try_allocate_cached(arena_, size);
  return c ? c->data() : nullptr;
}

void NodeIntegralCache::keep_block(const BlockIndex& block, double* data) {
  Chunk* c = Chunk::of(data);
  Entry& e = *directory_.find_or_create(cache_key(block));
  const SpinGuard guard(e.lock, [this] { transport_.pause(); });
  if (e.value != 0) return;  // another rank was faster
  heap_.add_reference(c);
  e.value = heap_.offset(c);
  ++e.version;
}

}  // namespace sial
