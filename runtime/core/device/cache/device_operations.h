#pragma once
// Operations on the device: each begins, names its operands, is launched in one or more pieces, and ends. Operands have
// their values on the device, and are not evicted before the end. Pieces go into streams after what they need while
// the rank goes on. Owned by the cache.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/device/cache/cache_layers.h"
#include "runtime/core/device/measure/self_check.h"

namespace sial {

class DeviceOperations {
 public:
  /// `self_check`: of so many operations one is compared with the host's reference kernels; 0: none is.
  DeviceOperations(CacheLayers& layers, int self_check);

  void begin();
  /// The device's dense copy of an operand. `write`: all of it is replaced. `statement`: whose use and transfers it is.
  /// Throws DeviceFull.
  double* operand(const HostBlock& host, Intent intent, Statement statement);
  double* scratch(std::int64_t n, Statement statement);  // throws DeviceFull
  void release_scratch(double* p) noexcept;
  // Work on the operands named by now. Throws WrongResult where a self-check finds it so. Products throw DeviceFull
  // where the device has no workspace, with nothing done; element-wise work is then done by the host, on the device's
  // values.
  void run(const BlockOp& op);
  void run(const MutableView& target, std::span<const kernels::FusedStep> steps);
  void run(const ElementWork& work);
  /// Sum over all positions of a * b, both operands on the device. Waits.
  double dot(const ConstView& a, const ConstView& b);
  void end();

  /// Small work waits to be started with its like.
  bool work_waits() const;
  /// The host has nothing to add to it for a while.
  void start_work();
  /// An operation could not be done on the device.
  void record_on_host_instead() { ++layers_.statistics.counts().on_host_instead; }
  std::int64_t self_checks() const { return self_check_ ? self_check_->compared() : 0; }

 private:
  CachedBlock& block_for(const HostBlock& host, Intent intent);
  double* read_operand(const CachedBlock& u);
  double* written_operand(CachedBlock& u);
  template <class F>
  void launch(bool small, F&& f) {
    const int stream = begin_work(small);
    f(layers_.device, stream);
    end_work(stream);
  }
  int begin_work(bool small);
  void end_work(int stream);
  std::vector<double> fetch(const double* device, std::int64_t n);
  void run_by_host(const MutableView& target, std::span<const kernels::FusedStep> steps);

  CacheLayers& layers_;
  std::unique_ptr<SelfCheck> self_check_;
  // State of the present operation:
  std::vector<std::shared_ptr<DeviceBlock>> operands_;  // first those that are written
  std::size_t targets_ = 0;
  std::vector<double*> scratches_;
  Frontier before_;  // what its next piece must wait for
};

}  // namespace sial
