#include "runtime/core/device/cache/block_cache.h"

#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"

namespace sial {

DeviceBlockCache::DeviceBlockCache(Device& device, BufferResource& host, bool direct, int self_check)
    : layers_(device, host, direct),
      operations_(layers_, self_check),
      hints_(layers_),
      prefetcher_(layers_),
      incoming_(layers_),
      outgoing_(layers_) {}

DeviceBlockCache::~DeviceBlockCache() {
  try {
    outgoing_.finish();
    complete_all();
  } catch (const EnvironmentError&) {
    // The device is lost. Host memory that copies needed stays held: they may be under way still.
  }
}

// --- uses on the host

/// The host reads what was written back for it, by now.
void DeviceBlockCache::look_at(CachedBlock& u, Statement statement) {
  layers_.transfers.await_host(u);
  layers_.statistics.seen_by_host(u, statement);
  u.record(BlockEvent::read_by_host);
}

void DeviceBlockCache::on_host(CachedBlock& u, Intent intent, Statement statement) {
  if (u.path == TransferPath::direct) layers_.budget.record_no_use(u);
  if (intent != Intent::write && !fault_enabled(Fault::device_copy_out)) layers_.transfers.write_back(u, statement);
  if (intent == Intent::read) {
    // Copies to the device may be under way: both read.
    if (u.written_back()) look_at(u, statement);
    return;
  }
  layers_.table.record_ended(u);
  layers_.transfers.await_host(u);
  if (intent == Intent::update && u.written_back()) look_at(u, statement);
  if (u.block && u.block->sharers > 1) {
    layers_.table.detach(u);
  } else if (u.on_device()) {
    layers_.budget.record_no_use(u);
    layers_.transfers.poison(*u.block, u.size);
  }
  u.record(BlockEvent::write_by_host);
  u.values = 0;
}

void DeviceBlockCache::on_host(const double* buffer, const double* first, Intent intent, Statement statement) {
  if (CachedBlock* u = layers_.table.find(buffer, first)) on_host(*u, intent, statement);
}

void DeviceBlockCache::buffer_on_host(const double* buffer, std::int64_t n, Intent intent, Statement statement) {
  layers_.table.for_each_in(buffer, n, [&](CachedBlock& u) { on_host(buffer, u.host.data, intent, statement); });
}

void DeviceBlockCache::all_on_host(Statement statement) {
  layers_.table.for_each([&](CachedBlock& u) { on_host(u.host.buffer, u.host.data, Intent::read, statement); });
}

void DeviceBlockCache::same_values(const double* buffer, const double* first, const double* copy,
                                   std::uint64_t content) {
  const CachedBlock* u = layers_.table.find(buffer, first);
  if (u && u->on_device() && u->on_host() && copy != first) layers_.table.make_shared(*u, copy, content);
}

/// When its temp was used again says nothing of it any more: it is wanted when the array's blocks are whose memory was
/// transferred there before.
void DeviceBlockCache::transfer_ownership(const double* buffer, const double* first, Statement statement) {
  CachedBlock* u = layers_.table.find(buffer, first);
  if (u && u->block) layers_.table.use(*u, statement);
}

// --- where a block is

Residency DeviceBlockCache::residency(const double* buffer, const double* first) {
  const CachedBlock* u = layers_.table.find(buffer, first);
  if (!u || !u->on_device()) return Residency::host;
  return u->on_host() ? Residency::both : Residency::device;
}

TransferState DeviceBlockCache::poll_transfer(const double* buffer, const double* first, Statement statement) {
  CachedBlock* u = layers_.table.find(buffer, first);
  if (!u) return TransferState::complete;
  if (!u->on_host()) {
    if (!layers_.order.started(u->block->written)) return TransferState::not_started;
    layers_.transfers.write_back(*u, statement);
  }
  return layers_.order.done(u->host_busy) ? TransferState::complete : TransferState::under_way;
}

bool DeviceBlockCache::work_started(const double* buffer, const double* first) {
  const CachedBlock* u = layers_.table.find(buffer, first);
  return !u || u->on_host() || layers_.order.started(u->block->written);
}

}  // namespace sial
