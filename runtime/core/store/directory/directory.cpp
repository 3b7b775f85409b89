#include "runtime/core/store/directory/directory.h"

#include <algorithm>
#include <bit>
#include <new>

#include "runtime/core/base/check.h"

namespace sial {

namespace {

constexpr std::uint64_t locked = 1;
constexpr std::size_t entries_per_slab = 64;

std::int64_t slab_doubles(std::size_t entries) { return static_cast<std::int64_t>(entries * sizeof(Entry) / 8); }

}  // namespace

std::size_t directory_chains(std::size_t node_bytes) {
  return std::bit_ceil(std::clamp<std::size_t>(node_bytes / 16384, 1024, std::size_t{1} << 24));
}

std::size_t Directory::bytes_needed(std::size_t chains) { return sizeof(Header) + chains * sizeof(std::uint64_t); }

Directory::Directory(std::byte* base, std::size_t at, std::size_t chains, NodeHeap& heap, int own_arena,
                     HeapHooks hooks)
    : base_(base), at_(at), chains_(chains), heap_(heap), own_arena_(own_arena), hooks_(std::move(hooks)) {
  SIAL_CHECK(std::has_single_bit(chains) && at % 64 == 0, "{} chains at {}", chains, at);
  hooks_.commit(at, bytes_needed(chains));
}

std::atomic<std::uint64_t>& Directory::chain(const BlockKey& key) const {
  std::uint64_t h = mix_hash(block_hash(key.block), key.array);
  h = mix_hash(h, key.generation);
  return chain_at(h & (chains_ - 1));
}

std::uint64_t Directory::lock_chain(std::atomic<std::uint64_t>& head) {
  while (true) {
    std::uint64_t first = head.load(std::memory_order_relaxed) & ~locked;
    if (head.compare_exchange_strong(first, first | locked, std::memory_order_acquire, std::memory_order_relaxed))
      return first;
    hooks_.pause();
  }
}

Entry* Directory::walk(std::uint64_t first, const BlockKey& key) const {
  for (; first != 0; first = entry(first)->fused_next) {
    Entry* e = entry(first);
    if (e->array == key.array && e->generation == key.generation && e->block == key.block) return e;
  }
  return nullptr;
}

Entry* Directory::find(const BlockKey& key) {
  auto& head = chain(key);
  if (head.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::uint64_t first = lock_chain(head);
  Entry* e = walk(first, key);
  head.store(first, std::memory_order_release);
  return e;
}

Entry* Directory::find_or_create(const BlockKey& key) {
  if (Entry* e = find(key)) return e;
  Entry* fresh = new_entry(key);
  auto& head = chain(key);
  const std::uint64_t first = lock_chain(head);
  if (Entry* e = walk(first, key)) {  // another rank was faster
    head.store(first, std::memory_order_release);
    free_entry(fresh);
    return e;
  }
  fresh->fused_next = first;
  head.store(offset(fresh), std::memory_order_release);
  if (key.block.rank == shelf_index.rank) return fresh;
  Entry* s = shelf(key.array, key.generation);
  const SpinGuard guard(s->lock, hooks_.pause);
  fresh->shelf_next = s->shelf_first;
  s->shelf_first = offset(fresh);
  return fresh;
}

/// With free_lock held. Slabs are never given back: where memory is short, smaller ones go into the gaps between
/// blocks.
void Directory::add_slab() {
  Header& h = header();
  Chunk* slab = nullptr;
  std::size_t entries = entries_per_slab;
  while (entries > 1 && !(slab = heap_.try_allocate(own_arena_, slab_doubles(entries), nullptr, true))) entries /= 8;
  if (!slab)
    slab = heap_.allocate(own_arena_, slab_doubles(1), [] { return std::string("the block directory"); }, true);
  heap_.not_counted(slab);
  auto* raw = reinterpret_cast<std::byte*>(slab->data());
  for (std::size_t i = 0; i < entries; ++i) {
    Entry* fresh = new (raw + i * sizeof(Entry)) Entry{};
    fresh->fused_next = h.free_first;
    h.free_first = offset(fresh);
  }
}

Entry* Directory::new_entry(const BlockKey& key) {
  Header& h = header();
  Entry* e = nullptr;
  {
    const SpinGuard guard(h.free_lock, hooks_.pause);
    if (h.free_first == 0) add_slab();
    e = entry(h.free_first);
    h.free_first = e->fused_next;
  }
  new (e) Entry{};
  e->array = key.array;
  e->generation = key.generation;
  e->block = key.block;
  e->phase.phase = -1;
  return e;
}

void Directory::free_entry(Entry* e) {
  Header& h = header();
  const SpinGuard guard(h.free_lock, hooks_.pause);
  e->fused_next = h.free_first;
  h.free_first = offset(e);
}

void Directory::for_each(Entry* shelf, const std::function<void(Entry&)>& f) {
  std::uint64_t at;
  {
    const SpinGuard guard(shelf->lock, hooks_.pause);
    at = shelf->shelf_first;
  }
  for (; at != 0; at = entry(at)->shelf_next) f(*entry(at));
}

void Directory::remove_shelf(Entry* shelf, const std::function<void(Entry&)>& before) {
  const auto unlink = [this](Entry* e) {
    if (e->listed_dirty) unlist_dirty(e);
    auto& head = chain({e->array, e->generation, e->block});
    std::uint64_t first = lock_chain(head);
    std::uint64_t* link = &first;
    while (*link != offset(e)) link = &entry(*link)->fused_next;
    *link = e->fused_next;
    head.store(first, std::memory_order_release);
    free_entry(e);
  };
  std::uint64_t at;
  {
    const SpinGuard guard(shelf->lock, hooks_.pause);
    at = shelf->shelf_first;
  }
  while (at != 0) {
    Entry* e = entry(at);
    at = e->shelf_next;
    {
      const SpinGuard guard(e->lock, hooks_.pause);
      before(*e);
    }
    unlink(e);
  }
  unlink(shelf);
}

void Directory::record_dirty(Entry& e) {
  if (e.listed_dirty) return;
  e.listed_dirty = 1;
  Header& h = header();
  const SpinGuard guard(h.dirty_lock, hooks_.pause);
  e.dirty_next = h.dirty_first;
  h.dirty_first = offset(&e);
}

void Directory::unlist_dirty(Entry* e) {
  Header& h = header();
  const SpinGuard guard(h.dirty_lock, hooks_.pause);
  std::uint64_t* link = &h.dirty_first;
  while (*link != offset(e)) link = &entry(*link)->dirty_next;
  *link = e->dirty_next;
}

Entry* Directory::take_dirty() {
  Header& h = header();
  const SpinGuard guard(h.dirty_lock, hooks_.pause);
  if (h.dirty_first == 0) return nullptr;
  Entry* e = entry(h.dirty_first);
  h.dirty_first = e->dirty_next;
  return e;
}

}  // namespace sial
