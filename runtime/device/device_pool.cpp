#include "runtime/device/device_pool.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace sial {

namespace {

constexpr std::int64_t grain = 32;  // doubles: 256 bytes

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
  list(parts_.emplace(p, Part{size, true, p, {}}).first);
  return true;
}

double* DevicePool::allocate(std::int64_t doubles, Frontier& free_after) {
  const std::int64_t n = rounded(doubles);
  auto found = free_.lower_bound({n, nullptr});
  const bool fresh = found == free_.end();
  if (fresh) {
    if (!reserve(n)) return nullptr;
    found = free_.lower_bound({n, nullptr});
  }
  ++stats_.requests;
  stats_.cache_hits += fresh ? 0 : 1;
  const auto part = parts_.find(found->second);
  unlist(part);
  if (part->second.size > n) {
    Part rest = part->second;
    rest.size -= n;
    part->second.size = n;
    list(parts_.emplace(part->first + n, rest).first);
  }
  part->second.free = false;
  free_after.include(part->second.used_until);
  stats_.bytes_in_use += n * 8;
  stats_.bytes_high_water = std::max(stats_.bytes_high_water, stats_.bytes_in_use);
  return part->first;
}

void DevicePool::release(double* p, const Frontier& used_until) {
  auto part = parts_.find(p);
  SIAL_CHECK(part != parts_.end() && !part->second.free, "device memory is given back that was not handed out");
  stats_.bytes_in_use -= part->second.size * 8;
  part->second.free = true;
  part->second.used_until = used_until;
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
