// Where the operands of a statement are: on the device inside an OnDevice scope, else in the host's memory, with the transfers that
// this needs. Copies exist only with a device that has memory of its own.

#include <fmt/format.h>

#include "runtime/interp/bring_ahead.h"
#include "runtime/interp/computing.h"
#include "runtime/interp/late_puts.h"
#include "runtime/interp/on_device.h"
#include "runtime/interp/view_ops.h"

namespace sial {

HostBlock Machine::shape_of(std::int32_t array, const BlockIndex& block) const {
  HostBlock host;
  host.array = array;
  host.rank = block.rank;
  host.fetched = true;
  std::int64_t stride = 1;
  for (int d = 0; d < block.rank; ++d) {
    host.extent[d] = bound_.arrays[static_cast<std::size_t>(array)].dim[d].extent_of(block.segment[d]);
    host.stride[d] = stride;
    stride *= host.extent[d];
  }
  host.buffer_size = stride;
  return host;
}

/// `view` is of the host's memory: of the block, or of a part of it.
HostBlock Machine::host_block(const RefPlan& ref, const Located& at, const MutableView& view) const {
  HostBlock host;
  host.array = ref.array;
  host.rank = ref.rank;
  host.data = view.data;
  for (int d = 0; d < ref.rank; ++d) {
    host.extent[d] = at.shape.extent[d];
    host.stride[d] = view.stride[d];
    if (ref.has_box) host.data -= at.box_offset[d] * view.stride[d];
  }
  host.fetched = is_remote(ref.kind);
  host.buffer = host.data;
  host.buffer_size = at.size;
  if (ref.kind == ArrayKind::static_) {
    host.buffer = statics_[ref.array];
    host.buffer_size = array_of(ref).whole.size();
  } else if (ref.kind == ArrayKind::contiguous_local) {
    const Region* region = region_around(ref.array, at.block.segment, at.block.segment);
    host.buffer = region->data;
    host.buffer_size = region->shape.size();
  }
  return host;
}

/// `view` is of the host's memory: of the block, or of a part of it, which is never all that a write replaces.
void Machine::place_view(const RefPlan& ref, const Located& at, Intent intent, MutableView& view) {
  if (ref.has_box && intent == Intent::write) intent = Intent::update;
  const HostBlock host = host_block(ref, at, view);
  if (bring_ahead_ && is_remote(ref.kind)) bring_ahead_->used(ref.array, at.block, on_device_);
  if (!on_device_) {
    copies_->on_host(host.buffer, host.data, intent);
    return;
  }
  view.data = copies_->on_device(host, intent);
  std::int64_t stride = 1;
  for (int d = 0; d < ref.rank; ++d) {
    view.stride[d] = stride;
    if (ref.has_box) view.data += at.box_offset[d] * stride;
    stride *= at.shape.extent[d];
  }
}

/// What a device has of a block goes with it, unless the memory goes on as another one.
void Machine::release_block(const BlockMap::Entry& e) noexcept {
  if (copies_ && env_.store.buffers().sole(e.data)) copies_->forget(e.data, e.size);
  release(e.data, e.size);
}

bool Machine::on_device_only(std::int32_t ref_id) {
  const RefPlan& ref = bound_.refs[ref_id];
  if (ref.kind != ArrayKind::temp && ref.kind != ArrayKind::local) return false;
  Located at;
  locate(ref, at);
  const BlockMap::Entry* found = blocks_[ref.array].find(at.key);
  return found && copies_->where(found->data, found->data) == DeviceCopies::Where::device;
}

void Machine::enter_device() {
  if (!copies_) return;
  copies_->begin_operation();
  on_device_ = true;
}

void Machine::leave_device() noexcept {
  if (!on_device_) return;
  on_device_ = false;
  copies_->end_operation();
}

void Machine::too_large_for_device(std::int64_t bytes) {
  copies_->note_on_host_instead();
  if (told_of_full_device_) return;
  told_of_full_device_ = true;
  warn(fmt::format("{}: the device has no room for the operands of this statement ({} bytes more are wanted); it runs on the host, as others may", place_name(at_), bytes));
}

/// Small work finds out when it is started, behind its statement.
void Machine::tell_of_full_device() {
  const std::int64_t on_host = copies_ ? copies_->batched().on_host : 0;
  if (on_host == 0 || told_of_full_device_) return;
  told_of_full_device_ = true;
  warn(fmt::format("{}: the device had no room for the workspace of {} small operation{} up to here, which the host did, as it may others", place_name(at_),
                   on_host, on_host == 1 ? "" : "s"));
}

void Machine::element_work(ElementOp op, double factor, const MutableView& d, const ConstView& a, const ConstView& b) {
  const Computing computing(*this);
  if (on_device_) {
    compute_on_device(written_, [&](DeviceCopies& copies) { copies.run(ElementWork{op, factor, d, a, b}); });
  } else {
    switch (op) {
      case ElementOp::fill: fill_view(d, factor); break;
      case ElementOp::add_scalar: add_to_view(d, factor); break;
      case ElementOp::scale: scale_view(d, factor); break;
      case ElementOp::copy: copy_view(d, a); break;
      case ElementOp::sum: sum_views(d, a, b, factor); break;
    }
  }
  env_.transport.charge_compute(static_cast<double>(view_size(d)) * seconds_per_element);
}

double* Machine::whole_static(std::int32_t array, Intent intent) {
  double* data = static_data(array);
  if (copies_) copies_->buffer_on_host(data, bound_.arrays[array].whole.size(), intent);
  return data;
}

const double* Machine::table(std::int32_t array) {
  if (copies_ && statics_[array]) copies_->buffer_on_host(statics_[array], bound_.arrays[array].whole.size(), Intent::read);
  return statics_[array];
}

double* Machine::scratch(std::int64_t n) { return on_device_ ? copies_->scratch(n) : buffer(n); }

void Machine::release_scratch(double* p, std::int64_t n) noexcept {
  if (on_device_) copies_->release_scratch(p);
  else release(p, n);
}

void Machine::add_device_stats(Stats& stats) const {
  const DeviceStats& s = copies_->stats();
  stats[Counter::device_operations] += static_cast<double>(s.operations);
  stats[Counter::device_evictions] += static_cast<double>(s.evictions);
  stats[Counter::device_self_checks] += static_cast<double>(copies_->self_checks());
  stats[Counter::device_on_host_instead] += static_cast<double>(s.on_host_instead + copies_->batched().on_host);
  const BatchCount small = copies_->batched();
  stats[Counter::device_starts] += static_cast<double>(copies_->starts());
  stats[Counter::device_started_at_waits] += static_cast<double>(s.started_at_waits);
  stats[Counter::device_waited] += static_cast<double>(small.pieces);
  stats[Counter::device_batches] += static_cast<double>(small.batches);
  stats[Counter::device_batched] += static_cast<double>(small.batched);
  stats[Counter::device_graphs] += static_cast<double>(small.graphs);
  stats[Counter::device_in_graphs] += static_cast<double>(small.in_graphs);
  if (late_puts_) {
    stats[Counter::device_late_puts] += static_cast<double>(late_puts_->added());
    stats[Counter::device_late_puts_awaited] += static_cast<double>(late_puts_->awaited());
  }
  const ResourceStats memory = copies_->device_memory();
  stats[Counter::device_memory_high_water] = std::max(stats[Counter::device_memory_high_water], static_cast<double>(memory.bytes_high_water));
  stats[Counter::device_allocations] += static_cast<double>(memory.requests);
  stats[Counter::device_allocation_hits] += static_cast<double>(memory.cache_hits);
  const PinnedCount pinned = env_.device->pinned();
  stats[Counter::device_pinned_bytes] = std::max(stats[Counter::device_pinned_bytes], static_cast<double>(pinned.bytes));
  stats[Counter::device_pins_refused] = std::max(stats[Counter::device_pins_refused], static_cast<double>(pinned.refused));
  if (const std::optional<DeviceTimes> times = copies_->times()) {
    stats[Counter::device_timed] += static_cast<double>(times->pieces);
    stats[Counter::device_kernel_time] += times->kernels;
    stats[Counter::device_in_time] += times->in;
    stats[Counter::device_out_time] += times->out;
    stats[Counter::device_copy_time] += times->copies;
    stats[Counter::device_overlap_time] += times->overlapped;
    stats[Counter::device_wait_time] += times->waited;
  }
  const TransferRow total = s.total();
  const auto add = [&](Counter transfers, Counter bytes, const TransferCount& count) {
    stats[transfers] += static_cast<double>(count.transfers);
    stats[bytes] += static_cast<double>(count.bytes);
  };
  add(Counter::device_received_straight, Counter::device_bytes_received_straight, s.received_straight);
  add(Counter::device_received_in_pieces, Counter::device_bytes_received_in_pieces, s.received_in_pieces);
  stats[Counter::device_pieces_early] += static_cast<double>(s.pieces_early);
  add(Counter::device_ahead, Counter::device_bytes_ahead, s.ahead);
  add(Counter::device_ahead_used, Counter::device_bytes_ahead_used, s.ahead_used);
  add(Counter::device_sent_straight, Counter::device_bytes_sent_straight, s.sent_straight);
  add(Counter::device_sent_in_pieces, Counter::device_bytes_sent_in_pieces, s.sent_in_pieces);
  add(Counter::device_in_as_written, Counter::device_bytes_in_as_written, total.in_as_written);
  add(Counter::device_out_as_written, Counter::device_bytes_out_as_written, total.out_as_written);
  add(Counter::device_in, Counter::device_bytes_in, total.in);
  add(Counter::device_out, Counter::device_bytes_out, total.out);
  add(Counter::device_in_least, Counter::device_bytes_in_least, total.in_least);
  add(Counter::device_out_least, Counter::device_bytes_out_least, total.out_least);
  const Hindsight::Moved hindsight = copies_->hindsight();
  stats[Counter::device_bytes_in_hindsight] += static_cast<double>(hindsight.in.bytes);
  stats[Counter::device_bytes_out_hindsight] += static_cast<double>(hindsight.out.bytes);
  for (const auto& [key, row] : s.rows) {
    const SourcePlace& p = m_->places[static_cast<std::size_t>(key.first)];
    const auto count = [](const TransferCount& c) { return TransferCost::Count{c.transfers, c.bytes}; };
    stats.transfers.push_back({m_->program, m_->files.at(p.file), m_->arrays.at(static_cast<std::size_t>(key.second)).name, p.line, count(row.in), count(row.out),
                               count(row.in_as_written), count(row.out_as_written), count(row.in_least), count(row.out_least)});
  }
}

}  // namespace sial
