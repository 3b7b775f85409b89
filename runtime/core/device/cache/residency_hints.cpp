#include "runtime/core/device/cache/residency_hints.h"

#include "runtime/core/base/fault_injection.h"

namespace sial {

/// Counts as a use of the block: it stays while there is another that is wanted less. Hints do not evict each other's
/// blocks. Null where there is no memory, or where the block is known with another size.
CachedBlock* ResidencyHints::with_memory(const HostBlock& host, Statement statement) {
  if (host.size() * 8 > layers_.device.memory()) return nullptr;
  layers_.held.release_done();
  CachedBlock* u = layers_.table.find(host.buffer, host.data);
  if (u && u->size != host.size()) return nullptr;
  if (!u) u = &layers_.table.make(host);
  u->host = host;
  layers_.table.use(*u, statement);
  if (u->block) return u;
  try {
    layers_.memory.attach(*u, statement);
  } catch (const DeviceFull&) { return nullptr; }
  return u;
}

void ResidencyHints::prefetch(const HostBlock& host, Statement statement) {
  if (CachedBlock* u = with_memory(host, statement); u && !u->on_device()) layers_.transfers.copy_in(*u, statement);
}

void ResidencyHints::reserve(std::int64_t n, Statement statement) {
  if (n * 8 > layers_.device.memory()) return;
  layers_.held.release_done();
  try {
    Frontier free_after;
    double* p = layers_.memory.allocate(n, free_after, statement);
    layers_.memory.release(p, free_after);
  } catch (const DeviceFull&) {
    // Nothing is promised.
  }
}

void ResidencyHints::write_back(const double* first, Statement statement) {
  if (CachedBlock* u = layers_.table.find(first)) layers_.transfers.write_back(*u, statement);
}

void ResidencyHints::evict(const double* first, Statement statement) {
  CachedBlock* u = layers_.table.find(first);
  if (!u) return;
  if (fault_enabled(Fault::device_evicted)) u->state = BlockState::host_known;
  layers_.transfers.write_back(*u, statement);
  layers_.table.evict(*u);
}

}  // namespace sial
