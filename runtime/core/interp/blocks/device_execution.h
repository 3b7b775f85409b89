#pragma once
// Work on the rank's device, if it has one with memory of its own: which operation runs there at present, what it
// writes, what becomes of it when the device has no room, and which of the host's memory is brought up to date. Without
// such a device everything here does nothing and all work is the host's. Owned by the machine, with the device's copies
// of blocks and their prefetch.

#include <memory>

#include <fmt/format.h>

#include "runtime/core/device/cache/block_cache.h"
#include "runtime/core/interp/context/run_context.h"
#include "runtime/core/interp/prefetch/device_prefetch.h"

namespace sial {

/// The block that a statement writes.
struct WrittenBlock {
  ArrayId array = no_array;
  BlockIndex block;
};

/// A remote block as the host has it, all but where it lies.
HostBlock fetched_block(const BoundProgram& bound, ArrayId array, const BlockIndex& block);

class DeviceExecution {
 public:
  class Scope;
  class HostScope;

  explicit DeviceExecution(const RunContext& context);
  DeviceExecution(const DeviceExecution&) = delete;
  DeviceExecution& operator=(const DeviceExecution&) = delete;

  /// Null: there is no device, or the program's blocks are too small for it.
  DeviceBlockCache* cache() const { return cache_.get(); }
  /// Whether the present operation runs on the device: views made meanwhile are of the device's copies.
  bool active() const { return active_; }

  /// The host's next use of its memory: the block at `first`, or all of a buffer.
  void on_host(const double* first, Intent intent, Statement here) const {
    if (cache_) cache_->on_host(first, first, intent, here);
  }
  void buffer_on_host(const double* buffer, std::int64_t n, Intent intent, Statement here) const {
    if (cache_) cache_->buffer_on_host(buffer, n, intent, here);
  }
  /// The buffer's content is no longer wanted.
  void invalidate(const double* buffer, std::int64_t n) const {
    if (cache_) cache_->invalidate(buffer, n);
  }
  /// Waits for copies from and to the buffer.
  void complete(const double* buffer) const {
    if (cache_) cache_->complete(buffer);
  }

  /// `operation` names its operands and computes, on the device where that has room for them. It is begun anew, on the
  /// host, where it has not, and must not have changed anything by then but which copies are valid.
  template <class F>
  void block_operation(Statement here, F&& operation);
  /// Puts work into a stream of the device; `target`: what it writes.
  template <class F>
  void compute(const WrittenBlock& target, F&& work) const;
  /// The block that was last looked at to be written.
  const WrittenBlock& written() const { return written_; }
  void set_written(ArrayId array, const BlockIndex& block) { written_ = {array, block}; }

  void enter();  // where there is a device
  void leave() noexcept;
  /// The statement runs on the host, because so many bytes more are wanted than the device has.
  void too_large(std::int64_t bytes, Statement here);
  /// Small work finds out that it has no room when it is started, after its statement.
  void tell_if_full(Statement here);

  double* scratch(std::int64_t n, Statement here) const { return cache_->operations().scratch(n, here); }
  void release_scratch(double* p) const noexcept { cache_->operations().release_scratch(p); }

  /// From here on fetched blocks may go to the device before their use.
  void begin_prefetch();
  /// Null without a device.
  DevicePrefetch* prefetch() const { return prefetch_.get(); }

  /// Before memory is released that the device may be copying to or from.
  void end();
  /// Only with a device.
  void add_to(Stats& stats) const;

 private:
  [[noreturn]] void fail_check(const WrittenBlock& target, const WrongResult& wrong) const;

  const RunContext& context_;
  std::unique_ptr<DevicePrefetch> prefetch_;
  std::unique_ptr<DeviceBlockCache> cache_;
  bool active_ = false;
  bool told_of_full_device_ = false;
  WrittenBlock written_;
};

/// An operation of the device begins with it and ends with it, or before.
class DeviceExecution::Scope {
 public:
  explicit Scope(DeviceExecution& device) : device_(device) { device_.enter(); }
  ~Scope() { device_.leave(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  DeviceExecution& device_;
};

/// Operands that are looked at meanwhile are the host's; the operation goes on after it where it was.
class DeviceExecution::HostScope {
 public:
  explicit HostScope(DeviceExecution& device) : device_(device), active_(device.active_) { device_.active_ = false; }
  ~HostScope() { device_.active_ = active_; }
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  DeviceExecution& device_;
  const bool active_;
};

template <class F>
void DeviceExecution::compute(const WrittenBlock& target, F&& work) const {
  try {
    work(cache_->operations());
  } catch (const WrongResult& wrong) { fail_check(target, wrong); }
}

template <class F>
void DeviceExecution::block_operation(Statement here, F&& operation) {
  if (cache_) {
    const Scope scope(*this);
    try {
      operation();
      return;
    } catch (const DeviceFull& full) {
      leave();
      too_large(full.bytes, here);
    }
  }
  operation();
}

}  // namespace sial
