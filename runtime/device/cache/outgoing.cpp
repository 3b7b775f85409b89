// Blocks that only the device has, on their way to other nodes. Straight: the message is sent from the device's memory,
// which is held as that of a block with the same values, so that whoever changes the block on the device leaves this
// memory alone. Through the host: copied to memory of the message, piece by piece, each sent while the next ones come;
// the block's own memory on the host takes no part.

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/fault_injection.h"
#include "runtime/device/cache/block_cache.h"

namespace sial {

class DeviceBlockCache::Outgoing final : public OutgoingBlock {
 public:
  Outgoing(DeviceBlockCache& copies, const Unit& u, bool straight)
      : copies_(&copies),
        block_(u.block),
        size_(u.size),
        buffer_(u.host.buffer),
        first_(u.host.data),
        array_(u.host.array),
        place_(copies.place_),
        may_be_straight_(straight),
        piece_(copies.device_.message_piece(u.size)) {
    ++block_->units;
    pieces_.push_back(block_->written);  // of the one piece that it is in place
    copies.outgoing_.insert(this);
  }
  ~Outgoing() override {
    if (!copies_) return;
    copies_->outgoing_.erase(this);
    if (straight_) copies_->straight_bytes_ -= size_ * 8;
    try {
      if (!straight_) copies_->order_.finish(pieces_.back());
    } catch (const EnvironmentError&) {
      // The device is lost, which whoever uses it next says.
    }
    let_go();
  }

  const double* in_place() override {
    if (!may_be_straight_) return nullptr;
    straight_ = true;
    copies_->straight_bytes_ += size_ * 8;
    copies_->stats_.sent_direct.add(size_);
    const double* data = block_->data;
    if (fault_enabled(Fault::device_send_hold)) let_go();
    return data;
  }

  void copy_to(double* to) override {
    to_ = to;
    copies_->stats_.sent_pipelined.add(size_);
    row().out.add(size_);
    if (Unit* u = copies_->find(buffer_, first_)) {
      u->out_counted = true;
      if (copies_->offline_optimum_) copies_->offline_optimum_->on_host({first_, u->content}, Intent::read);
    }
    if (copies_->direct_) copies_->pin_around(to);
    copies_->order_.before(copy_out_stream, block_->written);
    pieces_.clear();
    for (std::int64_t at = 0; at < size_; at += piece_) {
      copies_->device_.copy_out(to + at, block_->data + at, std::min(piece_, size_ - at));
      pieces_.push_back(copies_->order_.behind_submitted(copy_out_stream));
      copies_->order_.done(pieces_.back());  // remembers this moment of the stream
    }
    block_->used.include(pieces_.back());
    let_go();
  }

  std::size_t ready() override {
    while (copies_ && done_ < pieces_.size() && copies_->order_.done(pieces_[done_])) ++done_;
    return come();
  }
  void complete() override {
    if (copies_) copies_->order_.finish(pieces_.back());
    done_ = pieces_.size();
    come();
  }
  std::size_t piece() const override { return static_cast<std::size_t>(straight_ ? size_ : piece_) * 8; }

  /// The device's memory is about to go.
  void leave() {
    try {
      complete();
    } catch (const EnvironmentError&) {
      // The device is lost: the job ends, and with it the message.
    }
    block_.reset();
    copies_ = nullptr;
  }

 private:
  TransferRow& row() { return copies_->stats_.rows[{place_, array_}]; }
  void let_go() {
    if (!block_) return;
    --block_->units;
    copies_->give_back(std::move(block_));
  }
  /// How much has. The other nodes see what the device wrote: whoever fetches it from there brings nothing new.
  std::size_t come() {
    const bool all = done_ == pieces_.size();
    if (all && copies_ && copies_->device_.poisons() && !noted_) {
      noted_ = true;
      HostBlock values;
      values.data = straight_ ? (block_ ? block_->data : nullptr) : to_;
      values.rank = 1;
      values.extent[0] = size_;
      values.stride[0] = 1;
      if (values.data) copies_->seen_by_device_.insert(copies_->hash(values));
      if (!straight_) row().out_lower_bound.add(size_);
    }
    return static_cast<std::size_t>(straight_ ? (all ? size_ : 0)
                                              : std::min(static_cast<std::int64_t>(done_) * piece_, size_)) *
           8;
  }

  DeviceBlockCache* copies_;  // null: all has come, and the device's memory is gone
  std::shared_ptr<DeviceBlock> block_;
  const std::int64_t size_;
  const double *const buffer_, *const first_;  // the block's, on the host
  const std::int32_t array_, place_;
  const bool may_be_straight_;
  const std::int64_t piece_;
  double* to_ = nullptr;
  bool straight_ = false, noted_ = false;
  std::vector<Frontier> pieces_;
  std::size_t done_ = 0;  // of the pieces
};

// One that is sent again goes by the host, who then has it for all messages to come. Memory of the device that messages
// hold in place is kept small, because nothing can make room there but their end.
std::unique_ptr<OutgoingBlock> DeviceBlockCache::send(const double* buffer, const double* first, bool straight) {
  Unit* u = find(buffer, first);
  if (!u || u->host_valid || !u->device_valid || u->size == 0) return nullptr;
  const bool room = straight_bytes_ + u->size * 8 <= device_.memory() / 4;
  if (u->sent && !(straight && room)) return nullptr;
  u->sent = true;
  return std::make_unique<Outgoing>(*this, *u, straight && room);
}

void DeviceBlockCache::leave_outgoing() {
  for (Outgoing* o : outgoing_) o->leave();
  outgoing_.clear();
}

}  // namespace sial
