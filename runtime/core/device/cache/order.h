#pragma once
// The order of a device's work. Each piece of work has a number in its stream; a frontier says up to where streams must
// have come. Events are recorded only where one stream, or the host, has to wait for another, so that work on one
// stream costs nothing.

#include <array>
#include <cstdint>
#include <deque>

#include "runtime/core/device/device.h"

namespace sial {

/// Number of the last piece of work per stream; 0: none.
struct Frontier {
  std::array<std::uint64_t, max_device_streams> at{};

  void include(int stream, std::uint64_t number) {
    if (at[stream] < number) at[stream] = number;
  }
  void include(const Frontier& other) {
    for (int s = 0; s < max_device_streams; ++s) include(s, other.at[s]);
  }
};

class DeviceOrder {
 public:
  explicit DeviceOrder(Device& device) : device_(device) {}
  ~DeviceOrder();
  DeviceOrder(const DeviceOrder&) = delete;
  DeviceOrder& operator=(const DeviceOrder&) = delete;

  /// Work that is put into the stream from now on begins after the frontier.
  void before(int stream, const Frontier& frontier);
  /// A piece of work was put into the stream: its number.
  std::uint64_t submitted(int stream) {
    ++submitted_[stream];
    count_started(stream);
    return submitted_[stream];
  }
  /// The same as a frontier.
  Frontier after_submitted(int stream) {
    Frontier f;
    f.include(stream, submitted(stream));
    return f;
  }
  /// Whether all that is before the frontier is started, as far as is known: nothing of it waits to be started with its
  /// like.
  bool started(const Frontier& frontier);
  /// Whether all that is before the frontier is done. Does not wait, but has it started.
  bool done(const Frontier& frontier);
  /// The host waits.
  void finish(const Frontier& frontier);
  /// A compute stream for work after the frontier: one that comes before it in any case, or the next one. Small work
  /// keeps together.
  int compute_stream(const Frontier& frontier, bool small = false);
  /// Events that are kept at present.
  std::size_t events() const {
    std::size_t n = 0;
    for (const auto& list : marks_) n += list.size();
    return n;
  }

 private:
  struct Mark {
    std::uint64_t number;
    Device::Event event;
  };
  const Mark& mark(int stream, std::uint64_t number);
  void record_done(int stream);
  void count_started(int stream) {
    if (!device_.waits(stream)) started_[stream] = submitted_[stream];
  }

  Device& device_;
  std::array<std::uint64_t, max_device_streams> submitted_{}, started_{},
      done_{};  // each no more than the one before it
  std::array<std::array<std::uint64_t, max_device_streams>, max_device_streams> waited_{};  // [stream][for]
  std::array<std::deque<Mark>, max_device_streams> marks_;  // events not known to be done, in order
  int next_ = 0;
};

}  // namespace sial
