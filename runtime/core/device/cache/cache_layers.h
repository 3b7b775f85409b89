#pragma once
// The layers that operations, hints, prefetches and messages are made of, each built on those before it. Owned by the
// cache, and referred to by its other parts.

#include "runtime/core/device/cache/block_transfers.h"
#include "runtime/core/device/cache/cached_block_table.h"
#include "runtime/core/device/cache/device_memory.h"
#include "runtime/core/device/cache/device_pool.h"
#include "runtime/core/device/cache/device_statistics.h"
#include "runtime/core/device/cache/order.h"
#include "runtime/core/device/cache/pinned_memory.h"
#include "runtime/core/device/cache/prefetch_budget.h"

namespace sial {

struct CacheLayers {
  CacheLayers(Device& device, BufferResource& host, bool direct)
      : device(device),
        order(device),
        pool(device),
        statistics(device),
        held(device, order, host),
        budget(device),
        table(host, pool, budget),
        transfers(device, order, held, statistics, direct),
        memory(order, pool, table, transfers, statistics) {}

  Device& device;
  DeviceOrder order;
  DevicePool pool;
  DeviceStatistics statistics;
  PinnedMemory held;
  PrefetchBudget budget;
  CachedBlockTable table;
  BlockTransfers transfers;
  DeviceMemory memory;
};

}  // namespace sial
