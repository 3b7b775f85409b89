#include "runtime/core/interp/blocks/put_execution.h"

#include <algorithm>

#include "runtime/core/device/device.h"

namespace sial {
namespace {

/// Blocks of the host's memory that are free beside the source, with a quarter of it: what it is written to next, what
/// the put makes, and one more. Between statements puts are carried out when less than the quarter is left.
constexpr std::uint64_t headroom = 3;

Statement statement_of(const DeferredPut& put) { return Statement{put.pc}; }

}  // namespace

PutExecution::PutExecution(const RunContext& context, const DeviceExecution& device, const BlockMemory& memory,
                           Profile& profile)
    : context_(context), device_(device), memory_(memory), profile_(profile) {
  if (device.cache() && context.env.device_deferred_puts)
    deferred_ = std::make_unique<DeferredPuts>(context.env.device->memory());
}

void PutExecution::store(PutAs how, ArrayId array, const BlockIndex& block, std::int64_t size, const double* data,
                         Statement here) {
  BlockUpdate& update = context_.env.store.update();
  const Place place = context_.place(here);
  switch (how) {
    case PutAs::added: update.accumulate(array, block, size, data, place); break;
    case PutAs::combined: update.accumulate_later(array, block, size, data, place); break;
    case PutAs::moved:
      profile_.count_elided(here, array, size);
      update.put_alias(array, block, size, data, place);
      if (device_.cache()) device_.cache()->transfer_ownership(data, data, here);
      break;
    case PutAs::stored:
    case PutAs::shared:
      update.put(array, block, size, data, place);
      profile_.count_copied(here, array, size);
      break;
  }
}

void PutExecution::record_stored(const double* block) const {
  if (const BlockUpdate::Stored stored = context_.env.store.update().stored(); stored.data)
    device_.cache()->same_values(block, block, stored.data, stored.content);
}

bool PutExecution::send_from_device(const HostBlock& source, bool add, ArrayId array, const BlockIndex& block,
                                    Statement here) {
  std::unique_ptr<OutgoingBlock> values =
      device_.cache()->outgoing().send(source.buffer, source.data, context_.env.device_messages_direct, here);
  if (!values) return false;
  profile_.count_elided(here, array, source.size());
  context_.env.store.update().put_from(std::move(values), add, array, block, source.size(), context_.place(here));
  return true;
}

bool PutExecution::defer(DeferredPut put) {
  BlockUpdate& update = context_.env.store.update();
  if (device_.cache()->residency(put.source.buffer, put.source.data) != Residency::device) return false;
  if (!deferred_->fits(put.bytes()) || update.memory_is_short(headroom * static_cast<std::uint64_t>(put.bytes())) ||
      !memory_.share(put.source.buffer))
    return false;
  put.leaves_node =
      put.how != PutAs::combined && context_.env.transport.node_count() > 1 && update.leaves_node(put.array, put.block);
  profile_.count_block_operation();
  deferred_->add(std::move(put));
  while (deferred_->full()) carry_out(1);
  return true;
}

bool PutExecution::has_reached(const DeferredPut& put, TransferState far_enough) const {
  return on_behalf_of(context_, statement_of(put), [&] {
    DeviceBlockCache& cache = *device_.cache();
    if (put.leaves_node) return cache.work_started(put.source.buffer, put.source.data);
    return cache.poll_transfer(put.source.buffer, put.source.data, statement_of(put)) >= far_enough;
  });
}

void PutExecution::go_on() {
  if (context_.env.store.update().memory_is_short(0)) return carry_out();
  DeferredPuts& late = *deferred_;
  while (late.under_way() < late.size() && has_reached(late[late.under_way()], TransferState::under_way))
    late.record_under_way();
  while (!late.empty() && has_reached(late[0], TransferState::complete)) carry_out_first();
}

/// Gets its values on their way.
void PutExecution::start(const DeferredPut& put) {
  if (has_reached(put, TransferState::complete)) return;
  deferred_->record_awaited();
  if (put.leaves_node) return;
  on_behalf_of(context_, statement_of(put),
               [&] { device_.cache()->hints().write_back(put.source.data, statement_of(put)); });
}

void PutExecution::carry_out(std::size_t n) {
  if (!deferred_) return;
  n = std::min(n, deferred_->size());
  for (std::size_t i = 0; i < n; ++i) start((*deferred_)[i]);  // all on their way before one is waited for
  for (; n > 0; --n) carry_out_first();
}

/// It stays among them, as a holder of its source, if something is wrong with it.
void PutExecution::carry_out_first() {
  const DeferredPut& put = (*deferred_)[0];
  const Statement here = statement_of(put);
  const HostBlock source = put.source;
  on_behalf_of(context_, here, [&] {
    if (!put.leaves_node || !send_from_device(source, put.how == PutAs::added, put.array, put.block, here)) {
      device_.cache()->on_host(source.buffer, source.data, Intent::read, here);
      store(put.how, put.array, put.block, source.buffer_size, source.data, here);
      if (put.how != PutAs::moved) record_stored(source.data);
    }
    deferred_->take();
    device_.complete(source.buffer);  // the next one's block may need the memory
  });
  memory_.release_block(source.data, source.buffer_size);
}

void PutExecution::abandon() noexcept {
  while (waiting()) {
    const HostBlock source = deferred_->take().source;
    memory_.release(source.data, source.buffer_size);
  }
}

void PutExecution::add_to(Stats& stats) const {
  if (!deferred_) return;
  stats[Counter::device_deferred_puts] += static_cast<double>(deferred_->added());
  stats[Counter::device_deferred_puts_awaited] += static_cast<double>(deferred_->awaited());
}

}  // namespace sial
