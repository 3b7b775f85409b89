// Where the operands of a statement are: on the device inside an OnDevice scope, else in the host's memory, with the
// transfers that this needs. Copies exist only with a device that has memory of its own.

#include <fmt/format.h>

#include "runtime/interp/blocks/on_device.h"
#include "runtime/interp/operations/computing.h"
#include "runtime/interp/operations/view_ops.h"
#include "runtime/interp/prefetch/deferred_puts.h"
#include "runtime/interp/prefetch/device_prefetch.h"

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
HostBlock Machine::host_block(const ResolvedReference& ref, const Located& at, const MutableView& view) const {
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
void Machine::place_view(const ResolvedReference& ref, const Located& at, Intent intent, MutableView& view) {
  if (ref.has_box && intent == Intent::write) intent = Intent::update;
  const HostBlock host = host_block(ref, at, view);
  if (device_prefetch_ && is_remote(ref.kind)) device_prefetch_->used(ref.array, at.block, on_device_);
  if (!on_device_) {
    copies_->on_host(host.buffer, host.data, intent, statement());
    return;
  }
  view.data = copies_->operations().operand(host, intent, statement());
  std::int64_t stride = 1;
  for (int d = 0; d < ref.rank; ++d) {
    view.stride[d] = stride;
    if (ref.has_box) view.data += at.box_offset[d] * stride;
    stride *= at.shape.extent[d];
  }
}

/// What a device has of a block goes with it, unless the memory goes on as another one.
void Machine::release_block(const BlockMap::Entry& e) noexcept {
  if (copies_ && env_.store.buffers().sole(e.data)) copies_->invalidate(e.data, e.size);
  release(e.data, e.size);
}

bool Machine::on_device_only(std::int32_t ref_id) {
  const ResolvedReference& ref = bound_.refs[ref_id];
  if (ref.kind != ArrayKind::temp && ref.kind != ArrayKind::local) return false;
  Located at;
  locate(ref, at);
  const BlockMap::Entry* found = blocks_[ref.array].find(at.key);
  return found && copies_->residency(found->data, found->data) == Residency::device;
}

void Machine::enter_device() {
  if (!copies_) return;
  copies_->operations().begin();
  on_device_ = true;
}

void Machine::leave_device() noexcept {
  if (!on_device_) return;
  on_device_ = false;
  copies_->operations().end();
}

void Machine::too_large_for_device(std::int64_t bytes) {
  copies_->operations().note_on_host_instead();
  if (told_of_full_device_) return;
  told_of_full_device_ = true;
  warn(fmt::format(
      "{}: the device has no room for the operands of this statement ({} bytes more are wanted); it runs on the host, as others may",
      place_name(at_), bytes));
}

/// Small work finds out when it is started, behind its statement.
void Machine::tell_of_full_device() {
  const std::int64_t on_host = copies_ ? copies_->statistics().batched().on_host : 0;
  if (on_host == 0 || told_of_full_device_) return;
  told_of_full_device_ = true;
  warn(fmt::format(
      "{}: the device had no room for the workspace of {} small operation{} up to here, which the host did, as it may others",
      place_name(at_), on_host, on_host == 1 ? "" : "s"));
}

void Machine::element_work(ElementOp op, double factor, const MutableView& d, const ConstView& a, const ConstView& b) {
  const Computing computing(*this);
  if (on_device_) {
    compute_on_device(written_,
                      [&](DeviceOperations& operations) { operations.run(ElementWork{op, factor, d, a, b}); });
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
  if (copies_) copies_->buffer_on_host(data, bound_.arrays[array].whole.size(), intent, statement());
  return data;
}

const double* Machine::table(std::int32_t array) {
  if (copies_ && statics_[array])
    copies_->buffer_on_host(statics_[array], bound_.arrays[array].whole.size(), Intent::read, statement());
  return statics_[array];
}

double* Machine::scratch(std::int64_t n) {
  return on_device_ ? copies_->operations().scratch(n, statement()) : buffer(n);
}

void Machine::release_scratch(double* p, std::int64_t n) noexcept {
  if (on_device_) copies_->operations().release_scratch(p);
  else release(p, n);
}

void Machine::add_device_stats(Stats& stats) const {
  const DeviceStats& s = copies_->stats();
  const BatchCount small = copies_->statistics().batched();
  const ResourceStats memory = copies_->device_memory();
  const PinnedCount pinned = env_.device->pinned();
  const TransferRow total = s.total();
  const OfflineOptimum::Moved offline_optimum = copies_->statistics().offline_optimum();
  const std::optional<DeviceTimes> times = copies_->statistics().times();
  const DeviceTimes timed = times.value_or(DeviceTimes{});
  const auto take = [&](Counter counter, Combine how, double value) {
    stats[counter] = how == Combine::sum ? stats[counter] + value : std::max(stats[counter], value);
  };
#define TAKE(counter, how, ...) __VA_OPT__(take(Counter::counter, Combine::how, static_cast<double>(__VA_ARGS__));)
#define COUNTED_device(field) s.field
#define COUNTED_moved(field) s.field.transfers
#define COUNTED_moved_bytes(field) s.field.bytes
#define COUNTED_total(field) total.field.transfers
#define COUNTED_total_bytes(field) total.field.bytes
#define COUNTED_batch(field) small.field
#define COUNTED_timed(field) timed.field
#define COUNTED_memory(field) memory.field
#define COUNTED_offline(field) offline_optimum.field.bytes
#define COUNTER(number, name, unit, combine, by, meaning) TAKE(name, combine, COUNTED_##by)
#include "runtime/stats/counters.def"
  // These count from the beginning of the run.
#define COUNTED_pinned(field) pinned.field
#define COUNTER(number, name, unit, combine, by, meaning) TAKE(name, max, COUNTED_##by)
#include "runtime/stats/counters.def"
#undef TAKE
  stats[Counter::device_self_checks] += static_cast<double>(copies_->operations().self_checks());
  stats[Counter::device_on_host_instead] += static_cast<double>(s.on_host_instead + small.on_host);
  stats[Counter::device_starts] += static_cast<double>(copies_->statistics().starts());
  if (deferred_puts_) {
    stats[Counter::device_deferred_puts] += static_cast<double>(deferred_puts_->added());
    stats[Counter::device_deferred_puts_awaited] += static_cast<double>(deferred_puts_->awaited());
  }
  for (const auto& [key, row] : s.rows) {
    const SourcePlace& p = m_->places[static_cast<std::size_t>(key.first)];
    TransferCost& cost = stats.transfers.emplace_back();
    cost.program = m_->program;
    cost.file = m_->files.at(p.file);
    cost.array = m_->arrays.at(static_cast<std::size_t>(key.second)).name;
    cost.line = p.line;
#define TRANSFER_COST(field) cost.field = {row.field.transfers, row.field.bytes};
#include "runtime/stats/costs.def"
  }
}

}  // namespace sial
