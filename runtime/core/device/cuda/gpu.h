#pragma once
// One GPU as a rank uses it: its primary context, held while this lives, streams, events that are used again, and the
// road of failures. What the driver refuses is a EnvironmentError that names the GPU, what was asked for and the
// remedy. The driver tells of failures of earlier work at any later call, and goes on to do so: the device is lost.
// While an error unwinds nothing throws. Used by one thread at a time; the context is made that thread's at each entry.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/device/cuda/driver.h"

namespace sial::cuda {

class GpuDevice {
 public:
  /// Throws EnvironmentError.
  explicit GpuDevice(int number);
  ~GpuDevice();
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  const Driver& driver() const { return driver_; }
  const std::string& name() const { return name_; }  // "GPU 0 (NVIDIA H100)"
  int capability_major() const { return major_; }
  int capability_minor() const { return minor_; }
  std::int64_t free_bytes();
  std::int64_t total_bytes();
  bool lost() const { return lost_; }

  /// First thing in whatever calls the driver.
  void enter() const { driver_.cuCtxSetCurrent(context_); }

  /// `operation`: what was asked for, in words. False, without a word, while an error unwinds.
  bool check(Status status, const char* operation);
  bool check(BlasStatus status, const char* operation);

  Stream make_stream();
  void drop_stream(Stream stream) noexcept;
  /// All streams made here.
  void synchronize();
  Event take_event();
  void give_event(Event event) { unused_.push_back(event); }
  /// Takes an event that knows when it was reached; null where the driver has none.
  Event take_timed_event();
  void give_timed_event(Event event) { unused_timed_.push_back(event); }
  // The host waits, and how long it did so is summed up. False as check().
  bool finish(Event event, const char* operation);
  bool finish(Stream stream, const char* operation);
  double waited() const { return waited_; }
  /// Null when there is no room.
  Address allocate(std::size_t bytes, const char* what);
  void free(Address p) noexcept;

 private:
  bool fail(const std::string& what, const char* operation);
  template <class F>
  Status waiting(F&& wait);

  const Driver& driver_;
  int number_;
  Gpu gpu_ = 0;
  Context context_ = nullptr;
  std::string name_;
  int major_ = 0, minor_ = 0;
  bool lost_ = false;
  std::vector<Stream> streams_;
  std::vector<Event> events_, unused_, unused_timed_;
  double waited_ = 0;  // seconds
};

}  // namespace sial::cuda
