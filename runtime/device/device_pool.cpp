#include "runtime/device/device_pool.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace sial {

namespace {

constexpr std::int64_t grain = 32;  // doubles: 256 bytes
/// Of one size, that take turns.
constexpr std::size_t most_waiting_blocks = 64;

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
  list(parts_.emplace(p, Part{size, true, false, p, {}}).first);
  return true;
}

/// From the smallest free part that holds it; the end where none does.
DevicePool::Parts::iterator DevicePool::carve(std::int64_t n) {
  const auto found = free_.lower_bound({n, nullptr});
  if (found == free_.end()) return parts_.end();
  const auto part = parts_.find(found->second);
  unlist(part);
  if (part->second.size > n) {
    Part rest = part->second;
    rest.size -= n;
    part->second.size = n;
    list(parts_.emplace(part->first + n, rest).first);
  }
  return part;
}

DevicePool::Parts::iterator DevicePool::oldest_waiting(std::int64_t n, std::size_t more_than) {
  const auto found = waiting_.find(n);
  if (found == waiting_.end() || found->second.size() <= more_than) return parts_.end();
  const auto part = parts_.find(found->second.front());
  found->second.pop_front();
  part->second.waiting = false;
  return part;
}

/// False when none did.
bool DevicePool::free_waiting() {
  bool any = false;
  for (auto& [size, blocks] : waiting_)
    for (double* p : std::exchange(blocks, {})) {
      any = true;
      make_free(parts_.find(p));
    }
  return any;
}

double* DevicePool::allocate(std::int64_t doubles, Frontier& free_after) {
  const std::int64_t n = rounded(doubles);
  bool fresh = false;
  auto part = oldest_waiting(n, most_waiting_blocks - 1);
  if (part == parts_.end()) part = carve(n);
  if (part == parts_.end()) part = oldest_waiting(n, 0);
  if (part == parts_.end() && free_waiting()) part = carve(n);
  if (part == parts_.end()) {
    if (!reserve(n)) return nullptr;
    fresh = true;
    part = carve(n);
  }
  ++stats_.requests;
  stats_.cache_hits += fresh ? 0 : 1;
  part->second.free = false;
  free_after.include(part->second.used_until);
  stats_.bytes_in_use += n * 8;
  stats_.bytes_high_water = std::max(stats_.bytes_high_water, stats_.bytes_in_use);
  return part->first;
}

void DevicePool::release(double* p, const Frontier& used_until) {
  const auto part = parts_.find(p);
  SIAL_CHECK(part != parts_.end() && !part->second.free && !part->second.waiting, "device memory is given back that was not handed out");
  stats_.bytes_in_use -= part->second.size * 8;
  part->second.used_until = used_until;
  if (part->second.size > small_) return make_free(part);
  part->second.waiting = true;
  waiting_[part->second.size].push_back(p);
}

void DevicePool::make_free(Parts::iterator part) {
  part->second.free = true;
  part->second.waiting = false;
  const auto join = [&](Parts::iterator left, Parts::iterator right) {
    left->second.size += right->second.size;
    left->second.used_until.include(right->second.used_until);
    parts_.erase(right);
  };
  if (const auto next = std::next(part); next != parts_.end() && next->second.free && next->second.piece == part->second.piece) {
    unlist(next);
    join(part, next);
  }
  if (part != parts_.begin()) {
    if (const auto before = std::prev(part); before->second.free && before->second.piece == part->second.piece) {
      unlist(before);
      join(before, part);
      part = before;
    }
  }
  list(part);
}

}  // namespace sial
