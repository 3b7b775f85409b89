#pragma once
// The scope of a block operation that runs on the rank's device, if it has one of its own: views made in it are of the device's
// copies, and scratch comes from the device's memory. Everything outside of such scopes runs on the host. On the stack.

#include "runtime/device/copies.h"
#include "runtime/interp/machine.h"

namespace sial {

class Machine::OnDevice {
 public:
  explicit OnDevice(Machine& machine) : machine_(machine) {
    if (!machine.copies_) return;
    machine.on_device_ = true;
    machine.copies_->begin_operation();
  }
  ~OnDevice() { machine_.on_device_ = false; }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  Machine& machine_;
};

}  // namespace sial
