#include "runtime/core/device/cache/device_memory.h"

#include <memory>
#include <utility>

namespace sial {

namespace {

/// Blocks that leave for one that is prefetched.
constexpr int max_leaving = 8;
/// Operations: only what is wanted later than that leaves for one that is prefetched. DeviceNextUse says so of what is
/// not known to come back; the rest comes back at a time that is guessed, and what left for a guess crosses once more.
constexpr double far = 1e5;

}  // namespace

double* DeviceMemory::allocate(std::int64_t n, Frontier& free_after, Statement statement) {
  for (;;) {
    if (double* p = pool_.allocate(n, free_after)) return p;
    if (!evict_one(statement)) throw DeviceFull{n * 8};
  }
}

bool DeviceMemory::evict_one(Statement statement) {
  CachedBlock* u = table_.min_wanted();
  if (!u && revocable_.empty()) return false;
  ++statistics_.counts().evictions;
  if (!u) {
    revocable_.back()->revoke();
  } else if (!table_.current(*u)) {
    table_.drop(*u);
  } else {
    transfers_.write_back(*u, statement);
    table_.evict(*u);
  }
  return true;
}

double* DeviceMemory::allocate_clean(std::int64_t n, double due, bool idle, Frontier& free_after) {
  for (int leaving = 0;; ++leaving) {
    if (double* p = pool_.allocate(n, free_after)) return p;
    if (leaving == max_leaving) return nullptr;
    CachedBlock* victim =
        table_.clean_victim(due + far, [&](const CachedBlock& u) { return !idle || order_.done(u.block->used); });
    if (!victim) return nullptr;
    ++statistics_.counts().evictions;
    if (!table_.current(*victim)) table_.drop(*victim);
    else table_.evict(*victim);
  }
}

void DeviceMemory::attach(CachedBlock& u, Statement statement) {
  auto block = std::make_shared<DeviceBlock>();
  block->data = allocate(u.size, block->used, statement);
  block->written = block->used;
  table_.attach(u, std::move(block));
  transfers_.poison(*u.block, u.size);
}

void DeviceMemory::make_exclusive(CachedBlock& u, bool keep, Statement statement) {
  if (u.block->sharers == 1) return;
  std::shared_ptr<DeviceBlock> shared = u.block;
  attach(u, statement);
  --shared->sharers;
  if (keep && u.on_device()) transfers_.copy_on_device(*shared, *u.block, u.size);
  table_.give_back(std::move(shared));  // evictions may have left it to us alone
}

}  // namespace sial
