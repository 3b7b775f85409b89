#include "runtime/core/device/cache/outgoing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"

namespace sial {

class OutgoingBlocks::Message final : public OutgoingBlock {
 public:
  Message(CacheLayers& layers, Messages& messages, const CachedBlock& u, bool may_be_direct, Statement statement)
      : layers_(&layers),
        messages_(messages),
        block_(u.block),
        size_(u.size),
        buffer_(u.host.buffer),
        first_(u.host.data),
        array_(u.host.array),
        statement_(statement),
        may_be_direct_(may_be_direct),
        piece_(layers.device.message_piece(u.size)) {
    ++block_->sharers;
    pieces_.push_back(block_->written);  // of the one piece that it is in place
    messages_.all.insert(this);
  }
  ~Message() override {
    if (!layers_) return;
    messages_.all.erase(this);
    if (direct_) messages_.direct_bytes -= size_ * 8;
    try {
      if (!direct_) layers_->order.finish(pieces_.back());
    } catch (const EnvironmentError&) {
      // The device is lost, which whoever uses it next says.
    }
    release_block();
  }

  const double* in_place() override {
    if (!may_be_direct_) return nullptr;
    direct_ = true;
    messages_.direct_bytes += size_ * 8;
    layers_->statistics.counts().sent_direct.add(size_);
    const double* data = block_->data;
    if (fault_enabled(Fault::device_send_hold)) release_block();
    return data;
  }

  void copy_to(double* to) override {
    to_ = to;
    layers_->statistics.counts().sent_pipelined.add(size_);
    row().out.add(size_);
    if (CachedBlock* u = layers_->table.find(buffer_, first_)) u->sent = SentState::counted;
    if (layers_->transfers.direct()) layers_->held.pin_around(to);
    layers_->order.before(copy_out_stream, block_->written);
    pieces_.clear();
    for (std::int64_t at = 0; at < size_; at += piece_) {
      layers_->device.copy_out(to + at, block_->data + at, std::min(piece_, size_ - at));
      pieces_.push_back(layers_->order.after_submitted(copy_out_stream));
      layers_->order.done(pieces_.back());  // remembers this moment of the stream
    }
    block_->used.include(pieces_.back());
    release_block();
  }

  std::size_t ready() override {
    while (layers_ && done_ < pieces_.size() && layers_->order.done(pieces_[done_])) ++done_;
    return bytes_ready();
  }
  void complete() override {
    if (layers_) layers_->order.finish(pieces_.back());
    done_ = pieces_.size();
    bytes_ready();
  }
  std::size_t piece() const override { return static_cast<std::size_t>(direct_ ? size_ : piece_) * 8; }

  /// The device's memory is about to go.
  void leave() {
    try {
      complete();
    } catch (const EnvironmentError&) {
      // The device is lost: the job ends, and with it the message.
    }
    block_.reset();
    layers_ = nullptr;
  }

 private:
  TransferRow& row() { return layers_->statistics.row(statement_, array_); }
  void release_block() {
    if (!block_) return;
    --block_->sharers;
    layers_->table.give_back(std::move(block_));
  }
  /// The other nodes see what the device wrote: whoever fetches it from there brings nothing new.
  std::size_t bytes_ready() {
    const bool all = done_ == pieces_.size();
    if (all && layers_ && layers_->device.poisons() && !noted_) {
      noted_ = true;
      double* values = direct_ ? (block_ ? block_->data : nullptr) : to_;
      if (values) layers_->statistics.seen_by_device(dense_block(values, size_));
      if (!direct_) row().out_lower_bound.add(size_);
    }
    if (direct_) return static_cast<std::size_t>(all ? size_ : 0) * 8;
    return static_cast<std::size_t>(std::min(static_cast<std::int64_t>(done_) * piece_, size_)) * 8;
  }

  CacheLayers* layers_;  // null: all has come, and the device's memory is gone
  Messages& messages_;   // gone then, too
  std::shared_ptr<DeviceBlock> block_;
  const std::int64_t size_;
  const double *const buffer_, *const first_;  // the block's, on the host
  const ArrayId array_;
  const Statement statement_;
  const bool may_be_direct_;
  const std::int64_t piece_;
  double* to_ = nullptr;
  bool direct_ = false, noted_ = false;
  std::vector<Frontier> pieces_;
  std::size_t done_ = 0;  // of the pieces
};

// One that is sent again goes by the host, who then has it for all messages to come. Memory of the device that messages
// hold in place is kept small, because nothing but their end frees it.
std::unique_ptr<OutgoingBlock> OutgoingBlocks::send(const double* buffer, const double* first, bool direct,
                                                    Statement statement) {
  CachedBlock* u = layers_.table.find(buffer, first);
  if (!u || u->on_host() || u->size == 0) return nullptr;
  const bool may_be_direct = direct && messages_.direct_bytes + u->size * 8 <= layers_.device.memory() / 4;
  if (u->sent != SentState::no && !may_be_direct) return nullptr;
  if (u->sent == SentState::no) u->sent = SentState::sent;
  return std::make_unique<Message>(layers_, messages_, *u, may_be_direct, statement);
}

void OutgoingBlocks::finish() {
  for (Message* m : messages_.all) m->leave();
  messages_.all.clear();
}

}  // namespace sial
