// Puts that are carried out later than their statement: when their values have come to the host by themselves, and at
// the latest before this rank does anything else with the block, before a barrier, a deletion or the end of the
// program, before their source is changed in place, and when memory is short. Puts keep the order of the program among
// each other, so that what one rank adds to a block is added in that order.

#include "runtime/interp/prefetch/deferred_puts.h"

#include <algorithm>
#include <utility>

#include "runtime/device/device.h"
#include "runtime/interp/control/slice_check.h"
#include "runtime/interp/machine.h"

namespace sial {

namespace {

/// Of the host's memory, as for copies under way and messages.
constexpr std::int64_t max_bytes = std::int64_t{64} << 20;
/// Sources that are written again have two blocks on the device.
constexpr std::int64_t device_share = 8;
/// Blocks of the host's memory that are free beside the source, with a quarter of it: what it is written to next, what
/// the put makes, and one more. Between statements puts are carried out when less than the quarter is left.
constexpr std::uint64_t headroom = 3;

}  // namespace

DeferredPuts::DeferredPuts(std::int64_t device_memory)
    : max_bytes_(std::min(max_bytes, device_memory / device_share)) {}

void DeferredPuts::add(DeferredPut put) {
  ++added_;
  bytes_ += put.bytes();
  puts_.push_back(std::move(put));
}

DeferredPut DeferredPuts::take() {
  DeferredPut put = std::move(puts_.front());
  puts_.pop_front();
  bytes_ -= put.bytes();
  if (under_way_ > 0) --under_way_;
  return put;
}

std::size_t DeferredPuts::up_to(std::int32_t array, const BlockIndex& block) const {
  std::size_t n = puts_.size();
  while (n > 0 && !(puts_[n - 1].array == array && puts_[n - 1].block == block)) --n;
  return n;
}

std::size_t DeferredPuts::up_to(const double* buffer) const {
  std::size_t n = puts_.size();
  while (n > 0 && puts_[n - 1].source.buffer != buffer) --n;
  return n;
}

// --- the interpreter's side

bool Machine::put_later(const Instruction& in, PutAs how) {
  if (!deferred_puts_) return false;
  const ArrayKind kind = bound_.refs[in.b].kind;
  if (kind != ArrayKind::temp && kind != ArrayKind::local) return false;
  DeferredPut put;
  Located at;
  if (!own_source(in, at, put.source)) return false;
  put.array = bound_.refs[in.a].array;
  put.block = at.block;
  if (copies_->residency(put.source.buffer, put.source.data) != Residency::device) return false;
  if (!deferred_puts_->fits(put.bytes()) ||
      env_.store.update().memory_is_short(headroom * static_cast<std::uint64_t>(put.bytes())) ||
      !env_.store.buffers().share(put.source.buffer))
    return false;
  put.pc = at_;
  put.how = how;
  put.leaves_node = how != PutAs::combined && env_.transport.node_count() > 1 &&
                    env_.store.update().leaves_node(put.array, put.block);
  if (slice_check_) slice_check_->put(put.array, put.block);
  ++block_operations_;
  deferred_puts_->add(std::move(put));
  while (deferred_puts_->full()) carry_out_deferred_puts(1);
  return true;
}

/// As far as it can be without a wait. Called between statements.
void Machine::go_on_with_deferred_puts() {
  if (env_.store.update().memory_is_short(0)) return carry_out_deferred_puts();
  const std::int32_t here = at_;  // what goes wrong with a put has happened at its statement
  DeferredPuts& late = *deferred_puts_;
  const auto has_reached = [&](const DeferredPut& put, TransferState far_enough) {
    at_ = put.pc;
    if (put.leaves_node) return copies_->work_started(put.source.buffer, put.source.data);
    return copies_->poll_transfer(put.source.buffer, put.source.data, Statement{put.pc}) >= far_enough;
  };
  while (late.under_way() < late.size() && has_reached(late[late.under_way()], TransferState::under_way))
    late.note_under_way();
  while (!late.empty() && has_reached(late[0], TransferState::complete)) carry_out_deferred_put();
  at_ = here;
}

/// The first `n`, or all. Waits.
void Machine::carry_out_deferred_puts(std::size_t n) {
  if (!deferred_puts_) return;
  const std::int32_t here = at_;
  DeferredPuts& late = *deferred_puts_;
  n = std::min(n, late.size());
  for (std::size_t i = 0; i < n; ++i) {  // all on their way before one is waited for
    const DeferredPut& put = late[i];
    at_ = put.pc;
    if (put.leaves_node
            ? copies_->work_started(put.source.buffer, put.source.data)
            : copies_->poll_transfer(put.source.buffer, put.source.data, Statement{put.pc}) == TransferState::complete)
      continue;
    late.note_awaited();
    if (!put.leaves_node) copies_->hints().write_back(put.source.data, Statement{put.pc});
  }
  for (; n > 0; --n) carry_out_deferred_put();
  at_ = here;
}

/// The first. It stays among them, as a holder of its source, if something is wrong with it.
void Machine::carry_out_deferred_put() {
  const DeferredPut& put = (*deferred_puts_)[0];
  at_ = put.pc;
  const HostBlock source = put.source;
  if (!put.leaves_node || !send_from_device(source, put.how == PutAs::added, put.array, put.block)) {
    copies_->on_host(source.buffer, source.data, Intent::read, Statement{put.pc});
    store_block(put.how, put.array, put.block, source.buffer_size, source.data);
    if (put.how != PutAs::given) note_stored(source.data);
  }
  deferred_puts_->take();
  copies_->settle(source.buffer);  // the next one's block may need the memory
  release_block({0, source.data, source.buffer_size});
}

/// This rank is going to do something else with the block.
void Machine::before_use(std::int32_t array, const BlockIndex& block) {
  if (!deferred_puts_ || deferred_puts_->empty()) return;
  if (const std::size_t n = deferred_puts_->up_to(array, block)) carry_out_deferred_puts(n);
}

}  // namespace sial
