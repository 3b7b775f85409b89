#include "runtime/core/store/directory/kept_blocks.h"

#include <utility>

namespace sial {

namespace {

BlockKey kept_key(const BlockIndex& block) { return {kept_array, 0, block}; }

}  // namespace

bool drop_kept(Directory& directory, NodeHeap& heap, int arena) {
  if (heap.bytes_kept() == 0) return false;
  Entry* shelf = directory.find_shelf(kept_array, 0);
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

const double* NodeKeptBlocks::find_kept(const BlockIndex& block, std::int64_t size) {
  Entry* e = directory_.find(kept_key(block));
  if (!e) return nullptr;
  const SpinGuard guard(e->lock, [this] { transport_.pause(); });
  Chunk* c = e->value == 0 ? nullptr : heap_.chunk(e->value);
  if (!c || c->doubles != size) return nullptr;
  heap_.add_reference(c);
  return c->data();
}

/// Only while a quarter of the node's memory stays free: what is not kept costs time, what others lack ends the job.
double* NodeKeptBlocks::allocate_kept(std::int64_t size) {
  const std::uint64_t bytes = NodeHeap::chunk_bytes(size), budget = heap_.budget(),
                      kept = static_cast<std::uint64_t>(heap_.bytes_kept()) + bytes;
  if (kept + static_cast<std::uint64_t>(heap_.bytes_in_use()) > budget - budget / 4) return nullptr;
  Chunk* c = heap_.try_allocate_kept(arena_, size);
  return c ? c->data() : nullptr;
}

void NodeKeptBlocks::keep_block(const BlockIndex& block, double* data) {
  Chunk* c = Chunk::of(data);
  Entry& e = *directory_.find_or_create(kept_key(block));
  const SpinGuard guard(e.lock, [this] { transport_.pause(); });
  if (e.value != 0) return;  // another rank was faster
  heap_.add_reference(c);
  e.value = heap_.offset(c);
  ++e.version;
}

}  // namespace sial
