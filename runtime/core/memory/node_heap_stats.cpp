// The statistics of a node's heap: sums over its arenas.
#include <algorithm>

#include "runtime/core/memory/node_heap.h"

namespace sial {

ResourceStats NodeHeap::stats(int index) const {
  Arena& a = arena(index);
  ResourceStats s;
  s.cache_hits = a.hits.load(std::memory_order_relaxed);
  s.requests = s.cache_hits + a.misses.load(std::memory_order_relaxed);
  s.bytes_in_use = a.in_use();
  s.bytes_high_water = a.high_water.load(std::memory_order_relaxed);
  const SpinGuard guard(a.lock, hooks_.pause);
  s.bytes_reserved =
      static_cast<std::int64_t>(by_bytes() ? std::min<std::size_t>(a.top, bytes_per_arena_) : a.committed);
  return s;
}

std::span<const std::byte> NodeHeap::committed(const Chunk* c) const {
  const auto index = static_cast<int>((offset(c) - data_at_) / range_per_arena_);
  Arena& a = arena(index);
  std::uint32_t kind = of_addresses;
  arena(0).budget_kind.compare_exchange_strong(kind, of_lasting_addresses, std::memory_order_relaxed);
  const SpinGuard guard(a.lock, hooks_.pause);
  return {base_ + start_of(index), by_bytes() ? 0 : a.committed};
}

double NodeHeap::fragmentation(int index) const {
  Arena& a = arena(index);
  const SpinGuard guard(a.lock, hooks_.pause);
  const auto used = a.in_use() + a.uncounted.load(std::memory_order_relaxed) + a.cached.load(std::memory_order_relaxed);
  return a.top == 0 ? 0.0 : 1.0 - static_cast<double>(used) / static_cast<double>(a.top);
}

std::int64_t NodeHeap::bytes_not_counted() const {
  std::int64_t sum = 0;
  for (int a = 0; a < arenas_; ++a) sum += arena(a).uncounted.load(std::memory_order_relaxed);
  return sum;
}

std::int64_t NodeHeap::bytes_in_use() const {
  std::int64_t sum = 0;
  for (int a = 0; a < arenas_; ++a) sum += arena(a).in_use();
  return sum;
}

}  // namespace sial
