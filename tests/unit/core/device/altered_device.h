#pragma once
// A simulated device with something about it changed.
#include <memory>
#include <span>
#include <string_view>

#include "runtime/core/device/device.h"

namespace sial {

/// All but what is overridden is the simulated device's.
class AlteredDevice : public Device {
 public:
  explicit AlteredDevice(Kernels& kernels) : inner_(make_simulated_device(kernels)) {}
  std::string_view name() const override { return "altered"; }
  int compute_streams() const override { return inner_->compute_streams(); }
  std::int64_t memory() const override { return inner_->memory(); }
  std::int64_t piece() const override { return inner_->piece(); }
  double* reserve(std::int64_t n) override { return inner_->reserve(n); }
  void give_back(double* p, std::int64_t n) noexcept override { inner_->give_back(p, n); }
  void copy_in(double* device, const double* host, std::int64_t n) override { inner_->copy_in(device, host, n); }
  void copy_out(double* host, const double* device, std::int64_t n) override { inner_->copy_out(host, device, n); }
  void run(int stream, const BlockOp& op) override { inner_->run(stream, op); }
  void run(int stream, const MutableView& target, std::span<const kernels::FusedStep> steps) override {
    inner_->run(stream, target, steps);
  }
  void dot(int stream, const ConstView& a, const ConstView& b, double* result) override {
    inner_->dot(stream, a, b, result);
  }
  Event record(int stream) override { return inner_->record(stream); }
  void wait(int stream, Event event) override { inner_->wait(stream, event); }
  bool done(Event event) override { return inner_->done(event); }
  void finish(Event event) override { inner_->finish(event); }
  void release(Event event) override { inner_->release(event); }
  std::int64_t starts() const override { return inner_->starts(); }
  bool poisons() const override { return inner_->poisons(); }
  void poison(int stream, double* device, std::int64_t n) override { inner_->poison(stream, device, n); }
  void poison_host(const MutableView& host) override { inner_->poison_host(host); }
  TransferCount moved_in() const override { return inner_->moved_in(); }
  TransferCount moved_out() const override { return inner_->moved_out(); }

 private:
  const std::unique_ptr<Device> inner_;
};

/// Has room for the workspace of a few pieces, and then for none.
class Narrow final : public AlteredDevice {
 public:
  Narrow(Kernels& kernels, int room) : AlteredDevice(kernels), room_(room) {}
  void run(int s, const BlockOp& op) override {
    take_room();
    AlteredDevice::run(s, op);
  }
  void run(int s, const MutableView& target, std::span<const kernels::FusedStep> steps) override {
    take_room();
    AlteredDevice::run(s, target, steps);
  }

 private:
  void take_room() {
    if (room_-- <= 0) throw DeviceFull{8};
  }
  int room_;
};

}  // namespace sial
