#pragma once
// A block operation that runs on the rank's device, if it has one, else on the host: views made in it are of the
// device's copies, and scratch comes from the device's memory. Everything outside of such operations runs on the host.

#include <fmt/format.h>

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/machine.h"

namespace sial {

/// An operation of the device begins with it and ends with it, or before.
struct Machine::DeviceScope {
  explicit DeviceScope(Machine& m) : machine(m) { machine.enter_device(); }
  ~DeviceScope() { machine.leave_device(); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  Machine& machine;
};

template <class F>
void Machine::compute_on_device(const Written& target, F&& work) {
  try {
    work(copies_->operations());
  } catch (const WrongResult& wrong) {
    const std::string block =
        target.array < 0 ? "" : fmt::format("block {}, ", block_name(bound_.arrays[target.array], target.block));
    throw EnvironmentError(
        fmt::format("--self-check, rank {}: {}{}", worker(), block, wrong.text),
        "results of this device cannot be trusted: check the GPU (memory errors, clocks, driver), or run with `--device host`");
  }
}

/// `operation` names its operands and computes. It is begun anew, on the host, when the device has no room for it, and
/// must not have changed anything by then but which copies are valid.
template <class F>
void Machine::block_operation(F&& operation) {
  ++block_operations_;
  if (copies_) {
    const DeviceScope scope(*this);
    try {
      operation();
      return;
    } catch (const DeviceFull& full) {
      leave_device();
      too_large_for_device(full.bytes);
    }
  }
  operation();
}

}  // namespace sial
