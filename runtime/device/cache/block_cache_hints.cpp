// Blocks that statements name: brought to the device before an operation asks for them, back before the host does,
// given up. The rules of validity are the same as for operations, so a wish can come too early or for nothing, but
// changes no value.

#include "runtime/base/fault_injection.h"
#include "runtime/device/cache/block_cache.h"

namespace sial {

/// Counts as a use of the block: it stays while there is another that is wanted less. Wishes do not push each other
/// out. Null where there is no room, or where the memory is known as a block of another size.
DeviceBlockCache::Unit* DeviceBlockCache::with_memory(const HostBlock& host) {
  if (host.size() * 8 > device_.memory()) return nullptr;
  let_go_of_what_is_done();
  Unit* u = find(host.buffer, host.data);
  if (u && u->size != host.size()) return nullptr;
  if (!u) u = &make(host);
  u->host = host;
  expect(*u);
  if (u->block) return u;
  try {
    give_block(*u);
  } catch (const DeviceFull&) { return nullptr; }
  return u;
}

void DeviceBlockCache::bring(const HostBlock& host) {
  if (Unit* u = with_memory(host); u && !u->device_valid) copy_in(*u, place_);
}

void DeviceBlockCache::make_room(const HostBlock& host) { with_memory(host); }

void DeviceBlockCache::make_room(std::int64_t n) {
  if (n * 8 > device_.memory()) return;
  let_go_of_what_is_done();
  try {
    Frontier free_after;
    double* p = allocate(n, free_after);
    pool_.release(p, free_after);
  } catch (const DeviceFull&) {
    // Nothing is promised.
  }
}

/// What is known of the block that begins there, in whatever buffer.
DeviceBlockCache::Unit* DeviceBlockCache::at(const double* first) {
  const auto found = units_.find(first);
  return found == units_.end() ? nullptr : find(found->second.host.buffer, first);
}

void DeviceBlockCache::bring_back(const double* first) {
  if (Unit* u = at(first)) write_back(*u);
}

void DeviceBlockCache::give_up(const double* first) {
  Unit* u = at(first);
  if (!u) return;
  if (fault_enabled(Fault::device_given_up)) u->host_valid = true;
  write_back(*u);
  let_go_of_block(*u);
}

}  // namespace sial
