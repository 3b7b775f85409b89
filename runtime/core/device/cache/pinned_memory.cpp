#include "runtime/core/device/cache/pinned_memory.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/core/base/fault_injection.h"

namespace sial {

namespace {

/// Host memory held for copies under way, at most: beyond it the oldest are waited for.
constexpr std::int64_t max_held_bytes = std::int64_t{64} << 20;

/// Registered at once: large enough to be few, small enough not to fix much more than is used.
constexpr std::size_t slab_bytes = std::size_t{8} << 20;

}  // namespace

void PinnedMemory::hold(const HostBlock& host, const Frontier& until, std::vector<double> staging) {
  if (staging.empty() && fault_enabled(Fault::device_hold)) {
    host_.deallocate(const_cast<double*>(host.buffer), host.buffer_size);
    return;
  }
  BufferInUse h{until, nullptr, 0, std::move(staging)};
  if (h.staging.empty()) {
    h.buffer = host.buffer;
    h.size = host.buffer_size;
    held_bytes_ += h.size * 8;
  } else {
    held_bytes_ += static_cast<std::int64_t>(h.staging.size()) * 8;
  }
  held_.push_back(std::move(h));
  while (held_bytes_ > max_held_bytes && held_.size() > 1) release(held_.begin());
}

void PinnedMemory::hold_or_finish(const HostBlock& host, const Frontier& until) {
  if (share(host.buffer)) hold(host, until);
  else order_.finish(until);
}

void PinnedMemory::end_hold(const HostBlock& host, const Frontier& until) {
  held_.push_back({until, host.buffer, host.buffer_size, {}});
}

/// Waits if need be.
void PinnedMemory::release(std::deque<BufferInUse>::iterator h) {
  order_.finish(h->until);
  if (h->buffer) {
    held_bytes_ -= h->size * 8;
    host_.deallocate(const_cast<double*>(h->buffer), h->size);
  } else {
    held_bytes_ -= static_cast<std::int64_t>(h->staging.size()) * 8;
    recycle(std::move(h->staging));
  }
  held_.erase(h);
}

bool PinnedMemory::may_hold(std::int64_t bytes) const { return held_.empty() || held_bytes_ + bytes <= max_held_bytes; }

void PinnedMemory::release_done() {
  while (!held_.empty() && order_.done(held_.front().until)) release(held_.begin());
}

void PinnedMemory::complete(const double* buffer) {
  for (std::size_t i = held_.size(); i-- > 0;)
    if (held_[i].buffer == buffer) release(held_.begin() + static_cast<std::ptrdiff_t>(i));
}

void PinnedMemory::complete_all() {
  while (!held_.empty()) release(held_.begin());
}

std::vector<double> PinnedMemory::staging(std::int64_t n) {
  std::vector<double> s;
  if (!unused_staging_.empty()) {
    s = std::move(unused_staging_.back());
    unused_staging_.pop_back();
  }
  s.resize(static_cast<std::size_t>(std::max<std::int64_t>(n, 1)));
  return s;
}

void PinnedMemory::pin_around(const double* buffer) {
  if (!device_.pins()) return;
  const std::span<const std::byte> memory = host_.lasting(buffer);
  if (memory.empty()) return;
  const auto slab =
      static_cast<std::size_t>(reinterpret_cast<const std::byte*>(buffer) - memory.data()) / slab_bytes * slab_bytes;
  if (memory.size() >= slab + slab_bytes && slabs_.insert(memory.data() + slab).second)
    device_.pin(memory.data() + slab, slab_bytes);
}

}  // namespace sial
