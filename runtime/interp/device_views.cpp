// Where the operands of a statement are: on the device inside an OnDevice scope, else in the host's memory, with the transfers that
// this needs. Copies exist only with a device that has memory of its own.

#include "runtime/device/copies.h"
#include "runtime/interp/machine.h"

namespace sial {

/// Changes whenever the block is another one, whatever its address.
std::uint64_t Machine::version_of(const RefPlan& ref, const Located& at) {
  if (ref.kind == ArrayKind::temp || ref.kind == ArrayKind::local) {
    const BlockMap::Entry* found = blocks_[ref.array].find(at.key);
    return found ? found->serial : 0;
  }
  return is_remote(ref.kind) ? env_.store.version(ref.array, at.block) : 0;
}

/// `view` is of the host's memory: of the block, or of a part of it, which is never all that a write replaces.
void Machine::place_view(const RefPlan& ref, const Located& at, Intent intent, MutableView& view) {
  if (ref.has_box && intent == Intent::write) intent = Intent::update;
  const std::uint64_t version = version_of(ref, at);
  if (!on_device_) {
    copies_->on_host(ref.array, at.key, intent, version);
    return;
  }
  HostBlock host;
  host.rank = ref.rank;
  host.data = view.data;
  for (int d = 0; d < ref.rank; ++d) {
    host.extent[d] = at.shape.extent[d];
    host.stride[d] = view.stride[d];
    if (ref.has_box) host.data -= at.box_offset[d] * view.stride[d];
  }
  view.data = copies_->on_device(ref.array, at.key, host, intent, version);
  std::int64_t stride = 1;
  for (int d = 0; d < ref.rank; ++d) {
    view.stride[d] = stride;
    if (ref.has_box) view.data += at.box_offset[d] * stride;
    stride *= at.shape.extent[d];
  }
}

double* Machine::whole_static(std::int32_t array, Intent intent) {
  double* data = static_data(array);
  if (copies_) copies_->array_on_host(array, intent);
  return data;
}

const double* Machine::table(std::int32_t array) {
  if (copies_) copies_->array_on_host(array, Intent::read);
  return statics_[array];
}

double* Machine::scratch(std::int64_t n) { return on_device_ ? copies_->device().allocate(n) : buffer(n); }

void Machine::release_scratch(double* p, std::int64_t n) noexcept {
  if (on_device_) copies_->device().release(p, n);
  else release(p, n);
}

void Machine::add_device_stats(Stats& stats) const {
  const DeviceStats& s = copies_->stats();
  stats[Counter::device_operations] += static_cast<double>(s.operations);
  const auto add = [&](Counter transfers, Counter bytes, const TransferCount& count) {
    stats[transfers] += static_cast<double>(count.transfers);
    stats[bytes] += static_cast<double>(count.bytes);
  };
  add(Counter::device_in_as_written, Counter::device_bytes_in_as_written, s.in_as_written);
  add(Counter::device_out_as_written, Counter::device_bytes_out_as_written, s.out_as_written);
  add(Counter::device_in, Counter::device_bytes_in, s.in_by_intent);
  add(Counter::device_out, Counter::device_bytes_out, s.out_by_intent);
  add(Counter::device_in_least, Counter::device_bytes_in_least, s.in_least);
  add(Counter::device_out_least, Counter::device_bytes_out_least, s.out_least);
}

}  // namespace sial
