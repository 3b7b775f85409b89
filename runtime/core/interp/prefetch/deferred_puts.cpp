#include "runtime/core/interp/prefetch/deferred_puts.h"

#include <algorithm>
#include <utility>

namespace sial {

namespace {

/// A part of the host's memory, as for copies under way and messages.
constexpr std::int64_t max_bytes = std::int64_t{64} << 20;
/// Sources that are written again have two blocks on the device.
constexpr std::int64_t device_share = 8;

}  // namespace

DeferredPuts::DeferredPuts(std::int64_t device_memory)
    : max_bytes_(std::min(max_bytes, device_memory / device_share)) {}

void DeferredPuts::add(DeferredPut put) {
  ++added_;
  bytes_ += put.bytes();
  puts_.push_back(std::move(put));
}

DeferredPut DeferredPuts::take() {
  DeferredPut put = std::move(puts_.front());
  puts_.pop_front();
  bytes_ -= put.bytes();
  if (under_way_ > 0) --under_way_;
  return put;
}

std::size_t DeferredPuts::up_to(ArrayId array, const BlockIndex& block) const {
  std::size_t n = puts_.size();
  while (n > 0 && !(puts_[n - 1].array == array && puts_[n - 1].block == block)) --n;
  return n;
}

std::size_t DeferredPuts::up_to(const double* buffer) const {
  std::size_t n = puts_.size();
  while (n > 0 && puts_[n - 1].source.buffer != buffer) --n;
  return n;
}

}  // namespace sial
