#include "runtime/core/device/cache/incoming.h"

#include <algorithm>
#include <utility>

#include "runtime/core/base/fault_injection.h"

namespace sial {

namespace {

class DirectIncoming final : public IncomingBlock {
 public:
  DirectIncoming(CacheLayers& layers, const HostBlock& host, double* data)
      : layers_(layers), host_(host), data_(data), bytes_(DevicePool::rounded(host.size()) * 8) {
    layers_.budget.take(bytes_);
  }
  ~DirectIncoming() override {
    if (!data_) return;
    layers_.budget.give_back(bytes_);
    layers_.memory.release(data_, {});
  }
  double* place() override { return data_; }
  void arrived() override {
    auto block = std::make_shared<DeviceBlock>();
    block->data = std::exchange(data_, nullptr);
    CachedBlock& u = layers_.table.make_received(host_, std::move(block), bytes_);
    layers_.statistics.counts().received_direct.add(u.size);
    u.path = TransferPath::direct;
    leave_on_device(u);
  }

 private:
  /// Leaves a block that the device alone has there.
  void leave_on_device(CachedBlock& u) {
    const bool both = fault_enabled(Fault::device_received_on_host);
    u.record(both ? BlockEvent::copy_in : BlockEvent::write_on_device);
    if (both) return;
    if (!layers_.device.poisons()) return;
    HostBlock values = u.host;
    values.data = u.block->data;
    layers_.statistics.seen_by_device(values);
    layers_.transfers.poison_host(u);
  }

  CacheLayers& layers_;
  const HostBlock host_;
  double* data_;  // null: it is the cached block's
  const std::int64_t bytes_;
};

// No cached block is made before all of it has come, so that nobody takes the device's copy for valid: what the buffer
// held before may change in whatever way. Its memory is the last that an operation takes. The host's buffer is held
// from the first copy on until the last is done; whoever ends this early leaves the rest out.
class PipelinedIncoming final : public IncomingBlock, private RevocableMemory {
 public:
  PipelinedIncoming(CacheLayers& layers, const HostBlock& host, Statement statement)
      : layers_(layers),
        host_(host),
        statement_(statement),
        size_(host.size()),
        piece_(layers.device.message_piece(size_)),
        bytes_(DevicePool::rounded(size_) * 8) {}
  ~PipelinedIncoming() override { revoke(); }
  double* place() override { return nullptr; }
  std::size_t piece() const override { return static_cast<std::size_t>(piece_) * 8; }
  void come(std::size_t bytes) override {
    const std::int64_t there = std::min(static_cast<std::int64_t>(bytes / 8), size_);
    if (!block_ && (there < piece_ || there == size_ || !begin())) return;
    if (there - copied_ < piece_) return;
    if (there < size_) ++layers_.statistics.counts().pieces_early;
    copy((there - copied_) / piece_ * piece_);
  }
  void arrived() override {
    if (!block_) return;
    if (copied_ < size_ && !fault_enabled(Fault::device_last_piece)) copy(size_ - copied_);
    end_copies();
    CachedBlock& u = layers_.table.make_received(host_, std::exchange(block_, nullptr), bytes_);
    layers_.statistics.counts().received_pipelined.add(size_);
    u.path = TransferPath::pipelined;
    u.host_busy = u.block->written;
    layers_.statistics.copied_in(u, statement_);
    u.record(BlockEvent::copy_in);
  }

 private:
  /// The memory goes, after the copies that have set off; the block comes to the host only.
  void revoke() override {
    if (!block_) return;
    end_copies();
    layers_.budget.give_back(bytes_);
    if (copied_ > 0) layers_.statistics.row(statement_, host_.array).in.add(copied_);
    layers_.memory.release(block_->data, block_->used);
    block_ = nullptr;
  }
  /// Takes memory and the hold on the buffer; asks once.
  bool begin() {
    if (std::exchange(asked_, true)) return false;
    layers_.held.release_done();
    if (!layers_.budget.fits(bytes_) || !layers_.held.may_hold(bytes_)) return false;
    auto block = std::make_shared<DeviceBlock>();
    block->data = layers_.memory.allocate_clean(size_, static_cast<double>(layers_.table.now()), false, block->used);
    if (!block->data) return false;
    if (!layers_.held.share(host_.buffer)) {
      layers_.memory.release(block->data, block->used);
      return false;
    }
    layers_.held.begin_hold(host_);
    layers_.budget.take(bytes_);
    layers_.memory.add_revocable(*this);
    block_ = std::move(block);
    block_->written = block_->used;
    layers_.transfers.poison(*block_, size_);
    layers_.held.pin_around(host_.buffer);
    layers_.order.before(copy_in_stream, block_->used);
    return true;
  }
  void copy(std::int64_t n) {
    layers_.device.copy_in(block_->data + copied_, host_.data + copied_, n);
    copied_ += n;
    block_->written = layers_.order.after_submitted(copy_in_stream);
    block_->used.include(block_->written);
  }
  void end_copies() {
    layers_.memory.remove_revocable(*this);
    layers_.held.end_hold(host_, block_->written);
  }

  CacheLayers& layers_;
  const HostBlock host_;
  const Statement statement_;
  const std::int64_t size_, piece_, bytes_;
  std::int64_t copied_ = 0;  // elements, on their way to the device
  bool asked_ = false;
  std::shared_ptr<DeviceBlock> block_;  // null: none was taken, or it is the cached block's
};

}  // namespace

/// The device's memory is written from outside of its streams, so all work on what it held before has to be done by
/// now.
std::unique_ptr<IncomingBlock> IncomingBlocks::receive_direct(const HostBlock& host) {
  const std::int64_t size = host.size();
  if (size == 0 || !layers_.budget.fits(DevicePool::rounded(size) * 8)) return nullptr;
  Frontier free_after;
  double* data = layers_.memory.allocate_clean(size, static_cast<double>(layers_.table.now()), true, free_after);
  if (!data) return nullptr;
  if (layers_.order.done(free_after)) return std::make_unique<DirectIncoming>(layers_, host, data);
  layers_.memory.release(data, free_after);
  return nullptr;
}

std::unique_ptr<IncomingBlock> IncomingBlocks::receive_pipelined(const HostBlock& host, Statement statement) {
  if (!layers_.transfers.direct() || host.size() == 0 || layers_.device.message_piece(host.size()) >= host.size())
    return nullptr;
  return std::make_unique<PipelinedIncoming>(layers_, host, statement);
}

}  // namespace sial
