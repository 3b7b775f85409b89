#include "runtime/core/device/cache/block_transfers.h"

#include <span>
#include <utility>
#include <vector>

#include "runtime/core/device/batch/batch_queue.h"

namespace sial {

void BlockTransfers::copy_in(CachedBlock& u, Statement statement) {
  order_.finish(u.host_busy);  // what was written back is there
  const double* from = u.host.data;
  std::vector<double> stage;
  if (!direct_ || !u.host.dense() || !held_.share(u.host.buffer)) {
    stage = held_.staging(u.size);
    for_each_element(u.host, [&](const double& x, std::int64_t i) { stage[i] = x; });
    from = stage.data();
  }
  if (stage.empty()) held_.pin_around(u.host.buffer);
  order_.before(copy_in_stream, u.block->used);
  device_.copy_in(u.block->data, from, u.size);
  const Frontier done = order_.after_submitted(copy_in_stream);
  u.block->written = done;
  u.block->used.include(done);
  if (stage.empty()) u.host_busy.include(done);
  held_.hold(u.host, done, std::move(stage));
  statistics_.copied_in(u, statement);
  u.record(BlockEvent::copy_in);
}

/// Does not wait where the block is dense and its buffer can be held.
void BlockTransfers::copy_out(CachedBlock& u, Statement statement) {
  statistics_.row(statement, u.host.array).out.add(u.size);
  order_.before(copy_out_stream, u.block->written);
  order_.before(copy_out_stream, u.host_busy);
  const bool direct = direct_ && u.host.dense() && held_.share(u.host.buffer);
  std::vector<double> stage;
  if (direct) held_.pin_around(u.host.buffer);
  else stage = held_.staging(u.size);
  device_.copy_out(direct ? u.host.data : stage.data(), u.block->data, u.size);
  const Frontier done = order_.after_submitted(copy_out_stream);
  u.block->used.include(done);
  if (direct) {
    u.host_busy.include(done);
    held_.hold(u.host, done);
  } else {
    order_.finish(done);
    for_each_element(u.host, [&](double& x, std::int64_t i) { x = stage[i]; });
    held_.recycle(std::move(stage));
  }
  u.values = 0;
}

void BlockTransfers::write_back(CachedBlock& u, Statement statement) {
  if (u.on_host()) return;
  copy_out(u, statement);
  u.record(BlockEvent::write_back);
}

void BlockTransfers::copy_on_device(DeviceBlock& from, DeviceBlock& to, std::int64_t n) {
  MutableView target;
  target.rank = 1;
  target.extent[0] = n;
  target.stride[0] = 1;
  target.data = to.data;
  ConstView source;
  source.rank = 1;
  source.extent = target.extent;
  source.stride = target.stride;
  source.data = from.data;
  Frontier needed = to.used;
  needed.include(from.written);
  const ElementWork copy{ElementOp::copy, 0.0, target, source, {}};
  const kernels::FusedStep step = step_of(copy);
  const int stream = order_.compute_stream(needed, is_small(target, std::span(&step, 1), device_.small()));
  order_.before(stream, needed);
  device_.run(stream, copy);
  const std::uint64_t number = order_.submitted(stream);
  from.used.include(stream, number);
  to.written.include(stream, number);
  to.used.include(stream, number);
}

void BlockTransfers::poison(DeviceBlock& block, std::int64_t n) {
  if (!device_.poisons()) return;
  order_.before(copy_in_stream, block.used);
  device_.poison(copy_in_stream, block.data, n);
  block.written.include(copy_in_stream, order_.submitted(copy_in_stream));
  block.used.include(block.written);
}

void BlockTransfers::poison_host(CachedBlock& u) {
  if (!device_.poisons()) return;
  order_.before(copy_in_stream, u.host_busy);
  device_.poison_host(u.host.view());
  const Frontier done = order_.after_submitted(copy_in_stream);
  u.host_busy.include(done);
  held_.hold_or_finish(u.host, done);
}

}  // namespace sial
