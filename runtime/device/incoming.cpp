// Blocks of other nodes received straight in the device's memory. The host's copy is stale from the beginning, as that of a block which the device
// has written: its buffer is where they go when the host asks for them, or the device needs the room.

#include <algorithm>
#include <memory>

#include "runtime/base/plants.h"
#include "runtime/device/copies.h"

namespace sial {

class DeviceCopies::Incoming final : public IncomingBlock {
 public:
  Incoming(DeviceCopies& copies, const HostBlock& host, double* data) : copies_(copies), host_(host), data_(data), bytes_(DevicePool::rounded(host.size()) * 8) {
    copies_.ahead_bytes_ += bytes_;
  }
  ~Incoming() override {
    if (!data_) return;
    copies_.ahead_bytes_ -= bytes_;
    copies_.pool_.release(data_, {});
  }
  double* place() override { return data_; }
  void arrived() override {
    auto block = std::make_shared<DeviceBlock>();
    block->data = std::exchange(data_, nullptr);
    copies_.take(host_, std::move(block), bytes_);
  }

 private:
  DeviceCopies& copies_;
  const HostBlock host_;
  double* data_;  // null: it is the unit's
  const std::int64_t bytes_;
};

/// The device's memory is written from outside of its streams, so all work on what it held before has to be done by now.
std::unique_ptr<IncomingBlock> DeviceCopies::receive(const HostBlock& host) {
  const std::int64_t size = host.size();
  if (size == 0 || ahead_bytes_ + DevicePool::rounded(size) * 8 > ahead_limit()) return nullptr;
  Frontier free_after;
  double* data = allocate_ahead(size, static_cast<double>(operation_), true, free_after);
  if (!data) return nullptr;
  if (order_.done(free_after)) return std::make_unique<Incoming>(*this, host, data);
  pool_.release(data, free_after);
  return nullptr;
}

/// The block has come, into memory that counts as so many bytes ahead.
void DeviceCopies::take(const HostBlock& host, std::shared_ptr<DeviceBlock> block, std::int64_t bytes) {
  if (const auto old = units_.find(host.data); old != units_.end()) drop(old);
  stats_.received_straight.add(host.size());
  Unit& u = make(host);
  u.block = std::move(block);
  u.due = static_cast<double>(operation_) + 1.0;
  u.brought = operation_;
  u.ahead = bytes;
  u.received = u.device_valid = true;
  list(u);
  if (planted(Plant::device_received_on_host)) return;
  u.host_valid = false;
  if (!device_.spoils()) return;
  HostBlock there = u.host;
  there.data = u.block->data;
  seen_by_device_.insert(hash(there));
  device_.spoil_host(u.host.view());
  const Frontier done = order_.behind_submitted(copy_in_stream);
  u.host_busy = done;
  if (host_.share(u.host.buffer)) hold(u.host, done, {});
  else order_.finish(done);
}

}  // namespace sial
