// The device's memory: which blocks leave it when there is no room, and what copies under way hold of the host's.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/fault_injection.h"
#include "runtime/device/cache/block_cache.h"

namespace sial {

namespace {

/// Host memory held for copies under way, at most: beyond it the oldest are waited for.
constexpr std::int64_t max_held_bytes = std::int64_t{64} << 20;

/// Registered at once: large enough to be few, small enough not to fix much more than is used.
constexpr std::size_t slab_bytes = std::size_t{8} << 20;

}  // namespace

// --- when blocks are expected to be used again

void DeviceBlockCache::list(const Unit& u) {
  if (u.block) due_.insert({u.due, u.host.data});
}

void DeviceBlockCache::unlist(const Unit& u) {
  if (u.block) due_.erase({u.due, u.host.data});
}

/// The present operation uses it.
void DeviceBlockCache::expect(Unit& u) {
  unlist(u);
  u.last_operation = operation_;
  u.last_place = place_;
  u.due = static_cast<double>(operation_) + next_use_.expect(place_, u.host.array, u.host.data);
  list(u);
}

/// What it holds is not used any more.
void DeviceBlockCache::ended(Unit& u) {
  if (u.last_operation != 0) next_use_.not_used_again(u.last_place, u.host.array, u.host.data);
  u.last_operation = 0;
}

// --- memory

double* DeviceBlockCache::allocate(std::int64_t n, Frontier& free_after) {
  for (;;) {
    if (double* p = pool_.allocate(n, free_after)) return p;
    if (!evict_one()) throw DeviceFull{n * 8};
  }
}

/// What is due last, or overdue for so long that it may not come back, and is not an operand of the present operation.
DeviceBlockCache::Unit* DeviceBlockCache::min_wanted() {
  const auto now = static_cast<double>(operation_);
  const auto free = [&](const auto& entry) { return units_.at(entry.second).last_operation != operation_; };
  const auto last = std::find_if(due_.rbegin(), due_.rend(), free);
  if (last == due_.rend()) return nullptr;
  const auto first = std::find_if(due_.begin(), due_.end(), free);
  Unit& overdue = units_.at(first->second);
  if (first->first < now &&
      now + 2.0 * (now - static_cast<double>(std::max(overdue.last_operation, overdue.brought))) > last->first)
    return &overdue;
  return &units_.at(last->second);
}

bool DeviceBlockCache::evict_one() {
  Unit* u = min_wanted();
  if (!u) return give_up_pieces();
  ++stats_.evictions;
  if (!current(*u)) {
    drop(units_.find(u->host.data));
    return true;
  }
  write_back(*u);
  let_go_of_block(*u);  // all that is known of it is on the host by now
  return true;
}

std::vector<double> DeviceBlockCache::staging(std::int64_t n) {
  std::vector<double> s;
  if (!unused_staging_.empty()) {
    s = std::move(unused_staging_.back());
    unused_staging_.pop_back();
  }
  s.resize(static_cast<std::size_t>(std::max<std::int64_t>(n, 1)));
  return s;
}

/// Host memory that copies go straight from and to is made known to the device in slabs, each when it is first used.
void DeviceBlockCache::pin_around(const double* buffer) {
  if (!device_.pins()) return;
  const std::span<const std::byte> memory = host_.lasting(buffer);
  if (memory.empty()) return;
  const auto slab =
      static_cast<std::size_t>(reinterpret_cast<const std::byte*>(buffer) - memory.data()) / slab_bytes * slab_bytes;
  if (memory.size() >= slab + slab_bytes && slabs_.insert(memory.data() + slab).second)
    device_.pin(memory.data() + slab, slab_bytes);
}

/// Keeps the buffer, or what stands in for it, until the work is done.
void DeviceBlockCache::hold(const HostBlock& host, const Frontier& until, std::vector<double> staging) {
  if (staging.empty() && fault_enabled(Fault::device_hold)) {
    host_.deallocate(const_cast<double*>(host.buffer), host.buffer_size);
    return;
  }
  Held h{until, nullptr, 0, std::move(staging)};
  if (h.staging.empty()) {
    h.buffer = host.buffer;
    h.size = host.buffer_size;
    held_bytes_ += h.size * 8;
  } else {
    held_bytes_ += static_cast<std::int64_t>(h.staging.size()) * 8;
  }
  held_.push_back(std::move(h));
  while (held_bytes_ > max_held_bytes && held_.size() > 1) let_go(held_.begin());
}

/// Waits if need be.
void DeviceBlockCache::let_go(std::deque<Held>::iterator h) {
  order_.finish(h->until);
  if (h->buffer) {
    held_bytes_ -= h->size * 8;
    host_.deallocate(const_cast<double*>(h->buffer), h->size);
  } else {
    held_bytes_ -= static_cast<std::int64_t>(h->staging.size()) * 8;
    unused_staging_.push_back(std::move(h->staging));
  }
  held_.erase(h);
}

bool DeviceBlockCache::may_hold(std::int64_t bytes) const {
  return held_.empty() || held_bytes_ + bytes <= max_held_bytes;
}

void DeviceBlockCache::let_go_of_what_is_done() {
  while (!held_.empty() && order_.done(held_.front().until)) let_go(held_.begin());
}

void DeviceBlockCache::settle(const double* buffer) {
  for (std::size_t i = held_.size(); i-- > 0;)
    if (held_[i].buffer == buffer) let_go(held_.begin() + static_cast<std::ptrdiff_t>(i));
}

void DeviceBlockCache::settle_all() {
  while (!held_.empty()) let_go(held_.begin());
}

void DeviceBlockCache::sweep() {
  for (auto at = units_.begin(); at != units_.end();) {
    const auto next = std::next(at);
    if (!current(at->second)) drop(at);
    at = next;
  }
}

}  // namespace sial
