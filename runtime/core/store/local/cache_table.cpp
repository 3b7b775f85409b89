#include "runtime/core/store/local/cache_table.h"

#include <algorithm>

namespace sial {

std::uint32_t CacheTable::hash(ArrayId array, const BlockIndex& block) {
  return static_cast<std::uint32_t>(mix_hash(block_hash(block), static_cast<std::uint32_t>(array.number())) >> 16);
}

CacheEntry* CacheTable::find(ArrayId array, const BlockIndex& block) const {
  const std::uint32_t h = hash(array, block);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = h & mask; slots_[i].position != 0; i = (i + 1) & mask) {
    if (slots_[i].hash != h) continue;
    const CacheEntry& b = blocks_[slots_[i].position - 1];
    if (b.array == array && b.block == block) return const_cast<CacheEntry*>(&b);
  }
  return nullptr;
}

CacheEntry& CacheTable::find_or_create(ArrayId array, const BlockIndex& block) {
  if (CacheEntry* b = find(array, block)) return *b;
  if (2 * (blocks_.size() + 1) > slots_.size()) grow();
  CacheEntry& b = blocks_.emplace_back();
  b.array = array;
  b.block = block;
  const std::uint32_t h = hash(array, block);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = h & mask;
  while (slots_[i].position != 0) i = (i + 1) & mask;
  slots_[i] = {h, static_cast<std::uint32_t>(blocks_.size())};
  return b;
}

void CacheTable::grow() {
  std::vector<Slot> larger(slots_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Slot& s : slots_) {
    if (s.position == 0) continue;
    std::size_t i = s.hash & mask;
    while (larger[i].position != 0) i = (i + 1) & mask;
    larger[i] = s;
  }
  slots_ = std::move(larger);
}

void CacheTable::clear() {
  if (blocks_.empty()) return;
  blocks_.clear();
  std::fill(slots_.begin(), slots_.end(), Slot{});
}

void CacheTable::keep_only(const std::function<bool(CacheEntry&)>& stays) {
  std::vector<CacheEntry> kept;
  for (CacheEntry& b : blocks_)
    if (stays(b)) kept.push_back(std::move(b));
  clear();
  for (CacheEntry& b : kept) {
    CacheEntry& at = find_or_create(b.array, b.block);
    at = std::move(b);
  }
}

}  // namespace sial
