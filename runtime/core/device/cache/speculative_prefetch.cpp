#include "runtime/core/device/cache/speculative_prefetch.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace sial {

SpeculativePrefetch::Outcome SpeculativePrefetch::prefetch(const HostBlock& host, double operations,
                                                           Statement statement) {
  const std::int64_t bytes = DevicePool::rounded(host.size()) * 8;
  layers_.held.release_done();
  CachedBlock* u = layers_.table.find(host.buffer, host.data);
  const double due = static_cast<double>(layers_.table.now()) + std::max(operations, 1.0);
  if (u && u->size != host.size()) return Outcome::done;
  if (u && u->on_device()) {
    layers_.table.expect_at(*u, due);
    return Outcome::done;
  }
  if (!layers_.budget.fits(bytes)) return Outcome::no_memory;
  if (!layers_.held.may_hold(bytes) || (u && !layers_.order.done(u->host_busy))) return Outcome::later;
  if (!u || !u->block) {
    auto block = std::make_shared<DeviceBlock>();
    block->data = layers_.memory.allocate_clean(host.size(), due, false, block->used);
    if (!block->data) return Outcome::no_memory;
    block->written = block->used;
    if (!u) u = &layers_.table.make(host);
    u->due = due;
    layers_.table.attach(*u, std::move(block));
    layers_.transfers.poison(*u->block, u->size);
  } else {
    layers_.table.expect_at(*u, due);
  }
  u->host = host;
  layers_.transfers.copy_in(*u, statement);
  u->prefetched_bytes = bytes;
  u->prefetched_at = layers_.table.now();
  layers_.budget.take(bytes);
  layers_.statistics.counts().ahead.add(u->size);
  return Outcome::started;
}

}  // namespace sial
