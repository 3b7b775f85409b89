#include "runtime/core/device/cache/device_pool.h"

#include <algorithm>
#include <utility>

#include "runtime/core/base/check.h"

namespace sial {

namespace {

constexpr std::int64_t grain = 32;  // doubles: 256 bytes
/// Blocks of one size that take turns.
constexpr std::size_t max_cached_in_turn = 64;

}  // namespace

std::int64_t DevicePool::rounded(std::int64_t n) { return std::max(grain, (n + grain - 1) / grain * grain); }

DevicePool::~DevicePool() {
  for (const auto& [p, n] : pieces_) device_.give_back(p, n);
}

bool DevicePool::reserve(std::int64_t n) {
  std::int64_t size = std::max(n, rounded(device_.piece()));
  double* p = device_.reserve(size);
  if (!p) {
    // The rest, be it smaller than pieces usually are.
    size = std::min(size, std::max<std::int64_t>(n, (device_.memory() - stats_.bytes_reserved) / 8 / grain * grain));
    p = device_.reserve(size);
  }
  if (!p && size > n) p = device_.reserve(size = n);
  if (!p) return false;
  pieces_.emplace_back(p, size);
  stats_.bytes_reserved += size * 8;
  Part* part = new_part();
  part->at = p;
  part->size = size;
  free_.insert(part);
  return true;
}

DevicePool::Part* DevicePool::new_part() {
  if (unused_.empty()) return &parts_.emplace_back();
  Part* part = unused_.back();
  unused_.pop_back();
  *part = {};
  return part;
}

DevicePool::CachedParts& DevicePool::cached_of(std::int64_t n) {
  if (CachedParts* cached = cached_by_size_.find(static_cast<std::uint64_t>(n))) return *cached;
  CachedParts& cached = cached_[n];
  cached_by_size_.insert(static_cast<std::uint64_t>(n), &cached);
  return cached;
}

/// From the smallest free part that holds it; null where none does.
DevicePool::Part* DevicePool::carve(std::int64_t n, CachedParts& cached) {
  Part wanted;
  wanted.size = n;
  const auto found = free_.lower_bound(&wanted);
  if (found == free_.end()) return nullptr;
  Part* part = *found;
  free_.erase(found);
  if (part->size > n) {
    Part* rest = new_part();
    *rest = *part;
    rest->at += n;
    rest->size -= n;
    rest->before = part;
    if (rest->after) rest->after->before = rest;
    part->after = rest;
    part->size = n;
    free_.insert(rest);
  }
  part->cached = &cached;
  by_address_.insert(key(part->at), part);
  return part;
}

/// Small ones the oldest first, so that they take turns; of the others what was used last.
DevicePool::Part* DevicePool::take_cached(CachedParts& cached, std::int64_t n) {
  Part* part = n > small_ ? cached.back() : cached.front();
  if (n > small_) cached.pop_back();
  else cached.pop_front();
  return part;
}

DevicePool::Part* DevicePool::look_further(CachedParts& cached, std::int64_t n) {
  if (Part* part = carve(n, cached)) return part;
  if (!cached.empty()) return take_cached(cached, n);
  return free_cached() ? carve(n, cached) : nullptr;
}

/// False when none did.
bool DevicePool::free_cached() {
  bool any = false;
  for (auto& [size, cached] : cached_)
    for (Part* part : std::exchange(cached, {})) {
      any = true;
      make_free(part);
    }
  return any;
}

double* DevicePool::allocate(std::int64_t doubles, Frontier& free_after) {
  const std::int64_t n = rounded(doubles);
  CachedParts& cached = cached_of(n);
  Part* part =
      cached.size() > (n > small_ ? 0 : max_cached_in_turn - 1) ? take_cached(cached, n) : look_further(cached, n);
  if (part) {
    ++stats_.cache_hits;
  } else {
    if (!reserve(n)) return nullptr;
    part = carve(n, cached);
  }
  ++stats_.requests;
  part->state = Part::State::in_use;
  free_after.include(part->used_until);
  stats_.bytes_in_use += n * 8;
  stats_.bytes_high_water = std::max(stats_.bytes_high_water, stats_.bytes_in_use);
  return part->at;
}

void DevicePool::release(double* p, const Frontier& used_until) {
  Part* part = by_address_.find(key(p));
  SIAL_CHECK(part && part->state == Part::State::in_use, "device memory is given back that was not handed out");
  stats_.bytes_in_use -= part->size * 8;
  part->used_until = used_until;
  part->state = Part::State::cached;
  part->cached->push_back(part);
}

void DevicePool::make_free(Part* part) {
  by_address_.erase(key(part->at));
  part->state = Part::State::free;
  if (Part* after = part->after; after && after->state == Part::State::free) {
    free_.erase(after);
    join(part, after);
  }
  if (Part* before = part->before; before && before->state == Part::State::free) {
    free_.erase(before);
    join(before, part);
    part = before;
  }
  free_.insert(part);
}

void DevicePool::join(Part* left, Part* right) {
  left->size += right->size;
  left->used_until.include(right->used_until);
  left->after = right->after;
  if (left->after) left->after->before = left;
  unused_.push_back(right);
}

}  // namespace sial
