// Blocks of other nodes on their way to the device. Straight: received in its memory. The host's copy is stale from the
// beginning, as that of a block which the device has written: its buffer is where they go when the host asks for them,
// or the device needs the room. In pieces: received in the host's buffer, from where what has come is copied to the
// device while the rest comes; both have the block in the end.

#include <algorithm>
#include <memory>

#include "runtime/base/fault_injection.h"
#include "runtime/device/cache/block_cache.h"

namespace sial {

class DeviceBlockCache::Incoming final : public IncomingBlock {
 public:
  Incoming(DeviceBlockCache& copies, const HostBlock& host, double* data)
      : copies_(copies), host_(host), data_(data), bytes_(DevicePool::rounded(host.size()) * 8) {
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
    Unit& u = copies_.take(host_, std::move(block), bytes_);
    copies_.stats_.received_direct.add(u.size);
    u.came = Came::direct;
    copies_.leave_on_device(u);
  }

 private:
  DeviceBlockCache& copies_;
  const HostBlock host_;
  double* data_;  // null: it is the unit's
  const std::int64_t bytes_;
};

/// The device's memory is written from outside of its streams, so all work on what it held before has to be done by
/// now.
std::unique_ptr<IncomingBlock> DeviceBlockCache::receive(const HostBlock& host) {
  const std::int64_t size = host.size();
  if (size == 0 || ahead_bytes_ + DevicePool::rounded(size) * 8 > ahead_limit()) return nullptr;
  Frontier free_after;
  double* data = allocate_ahead(size, static_cast<double>(operation_), true, free_after);
  if (!data) return nullptr;
  if (order_.done(free_after)) return std::make_unique<Incoming>(*this, host, data);
  pool_.release(data, free_after);
  return nullptr;
}

// No unit knows of it before all of it has come, so that nobody takes the device's copy for valid: what it stands in
// for may change in whatever way. Its memory goes last when an operation has no other. The host's buffer is held from
// the first copy on until the last is done; whoever ends this early leaves the rest out.
class DeviceBlockCache::InPieces final : public IncomingBlock {
 public:
  InPieces(DeviceBlockCache& copies, const HostBlock& host, std::int32_t place)
      : copies_(copies),
        host_(host),
        place_(place),
        size_(host.size()),
        piece_(copies.device_.message_piece(size_)),
        bytes_(DevicePool::rounded(size_) * 8) {}
  ~InPieces() override { give_up(); }
  double* place() override { return nullptr; }
  std::size_t piece() const override { return static_cast<std::size_t>(piece_) * 8; }
  void come(std::size_t bytes) override {
    const std::int64_t there = std::min(static_cast<std::int64_t>(bytes / 8), size_);
    if (!block_ && (there < piece_ || there == size_ || !begin())) return;
    if (there - sent_ < piece_) return;
    if (there < size_) ++copies_.stats_.pieces_early;
    copy((there - sent_) / piece_ * piece_);
  }
  void arrived() override {
    if (!block_) return;
    if (sent_ < size_ && !fault_enabled(Fault::device_last_piece)) copy(size_ - sent_);
    leave_list();
    Unit& u = copies_.take(host_, std::exchange(block_, nullptr), bytes_);
    copies_.stats_.received_pipelined.add(size_);
    u.came = Came::pipelined;
    u.host_busy = u.block->written;
    copies_.note_copied_in(u, place_);
  }
  /// The memory goes, behind the copies that have set off; the block comes to the host only.
  void give_up() {
    if (!block_) return;
    leave_list();
    copies_.ahead_bytes_ -= bytes_;
    if (sent_ > 0) copies_.stats_.rows[{place_, host_.array}].in.add(sent_);
    copies_.pool_.release(block_->data, block_->used);
    block_ = nullptr;
  }

 private:
  /// Takes memory and the hold on the buffer; asks once.
  bool begin() {
    if (std::exchange(asked_, true)) return false;
    copies_.let_go_of_what_is_done();
    if (copies_.ahead_bytes_ + bytes_ > copies_.ahead_limit() || !copies_.may_hold(bytes_)) return false;
    auto block = std::make_shared<DeviceBlock>();
    block->data = copies_.allocate_ahead(size_, static_cast<double>(copies_.operation_), false, block->used);
    if (!block->data) return false;
    if (!copies_.host_.share(host_.buffer)) {
      copies_.pool_.release(block->data, block->used);
      return false;
    }
    copies_.held_bytes_ += host_.buffer_size * 8;
    copies_.ahead_bytes_ += bytes_;
    copies_.in_pieces_.push_back(this);
    block_ = std::move(block);
    block_->written = block_->used;
    copies_.poison(*block_, size_);
    copies_.pin_around(host_.buffer);
    copies_.order_.before(copy_in_stream, block_->used);
    return true;
  }
  void copy(std::int64_t n) {
    copies_.device_.copy_in(block_->data + sent_, host_.data + sent_, n);
    sent_ += n;
    block_->written = copies_.order_.behind_submitted(copy_in_stream);
    block_->used.include(block_->written);
  }
  /// The host's buffer is held as hold() does, but for the wait where much is held: it counts among that since begin().
  void leave_list() {
    std::erase(copies_.in_pieces_, this);
    copies_.held_.push_back({block_->written, host_.buffer, host_.buffer_size, {}});
  }

  DeviceBlockCache& copies_;
  const HostBlock host_;
  const std::int32_t place_;
  const std::int64_t size_, piece_, bytes_;
  std::int64_t sent_ = 0;  // elements, on their way to the device
  bool asked_ = false;
  std::shared_ptr<DeviceBlock> block_;  // null: none was taken, or it is the unit's
};

/// For memory that an operation needs now, when there is nothing else to take. False: none has any.
bool DeviceBlockCache::give_up_pieces() {
  if (in_pieces_.empty()) return false;
  ++stats_.evictions;
  in_pieces_.back()->give_up();
  return true;
}

std::unique_ptr<IncomingBlock> DeviceBlockCache::receive_in_pieces(const HostBlock& host, std::int32_t place) {
  if (!direct_ || host.size() == 0 || device_.message_piece(host.size()) >= host.size()) return nullptr;
  return std::make_unique<InPieces>(*this, host, place);
}

/// The block has come, into memory that counts as so many bytes ahead.
DeviceBlockCache::Unit& DeviceBlockCache::take(const HostBlock& host, std::shared_ptr<DeviceBlock> block,
                                               std::int64_t bytes) {
  if (const auto old = units_.find(host.data); old != units_.end()) drop(old);
  Unit& u = make(host);
  u.block = std::move(block);
  u.due = static_cast<double>(operation_) + 1.0;
  u.brought = operation_;
  u.ahead = bytes;
  u.device_valid = true;
  list(u);
  return u;
}

/// Which alone has it.
void DeviceBlockCache::leave_on_device(Unit& u) {
  if (fault_enabled(Fault::device_received_on_host)) return;
  u.host_valid = false;
  if (!device_.poisons()) return;
  HostBlock there = u.host;
  there.data = u.block->data;
  seen_by_device_.insert(hash(there));
  device_.poison_host(u.host.view());
  const Frontier done = order_.behind_submitted(copy_in_stream);
  u.host_busy = done;
  if (host_.share(u.host.buffer)) hold(u.host, done, {});
  else order_.finish(done);
}

}  // namespace sial
