#include "runtime/core/interp/blocks/block_map.h"

#include "runtime/core/base/check.h"

namespace sial {

void BlockMap::grow() {
  std::vector<Entry> old = std::move(slots_);
  slots_.assign(old.empty() ? 8 : old.size() * 2, Entry{});
  mask_ = slots_.size() - 1;
  for (const Entry& e : old) {
    if (!e.data) continue;
    std::size_t i = home(e.key);
    while (slots_[i].data) i = (i + 1) & mask_;
    slots_[i] = e;
  }
}

void BlockMap::insert(std::uint64_t key, double* data, std::int64_t size) {
  if ((used_ + 1) * 2 > slots_.size()) grow();
  std::size_t i = home(key);
  while (slots_[i].data) {
    SIAL_CHECK(slots_[i].key != key, "block with key {} is already in the map", key);
    i = (i + 1) & mask_;
  }
  slots_[i] = {key, data, size};
  ++used_;
}

BlockMap::Entry BlockMap::remove(std::uint64_t key) {
  Entry* found = find(key);
  SIAL_CHECK(found != nullptr, "no block with key {} in the map", key);
  const Entry removed = *found;
  std::size_t hole = static_cast<std::size_t>(found - slots_.data());
  // Shift back the entries behind the hole that may not lie behind it: those whose home is not in (hole, i].
  for (std::size_t i = (hole + 1) & mask_; slots_[i].data; i = (i + 1) & mask_) {
    const std::size_t distance_home = (i - home(slots_[i].key)) & mask_;
    const std::size_t distance_hole = (i - hole) & mask_;
    if (distance_home >= distance_hole) {
      slots_[hole] = slots_[i];
      hole = i;
    }
  }
  slots_[hole] = Entry{};
  --used_;
  return removed;
}

}  // namespace sial
