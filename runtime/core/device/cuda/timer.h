#pragma once
// The time of pieces of work in streams, by an event before and one after each. What the events say is asked for in
// batches, later, and never waited for but in times(); events are used again. The device outlives this.

#include <deque>
#include <map>

#include "runtime/core/device/cuda/gpu.h"
#include "runtime/core/device/measure/busy_times.h"

namespace sial::cuda {

class WorkTimer {
 public:
  explicit WorkTimer(GpuDevice& gpu) : gpu_(gpu) {}
  ~WorkTimer();
  WorkTimer(const WorkTimer&) = delete;
  WorkTimer& operator=(const WorkTimer&) = delete;

  /// Times all that is put into a stream from now on, or no longer; `any`: one of the streams.
  void take(bool on, Stream any);
  bool taking() const { return on_; }
  /// Whether it ever was.
  bool taken() const { return base_ != nullptr; }
  /// Waits for what is timed. `waited` is left out.
  DeviceTimes times();

  /// The work put into the stream while this lives. Nothing where time is not taken, or the driver has no event left.
  class Piece {
   public:
    Piece(WorkTimer& timer, Stream stream, DeviceWork kind);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    WorkTimer& timer_;
    Stream stream_;
    DeviceWork kind_;
    Event begin_ = nullptr;
  };

 private:
  struct Timed {
    DeviceWork kind;
    Event begin, end;
  };
  /// The pieces of a stream, in its order; `last`: the end of the last one that was asked for, on base_'s clock.
  struct Queue {
    std::deque<Timed> pieces;
    double last = 0;
  };
  bool ask(Event begin, Event end, double& seconds);
  bool resolve(const Timed& piece, Queue& queue);
  void resolve();
  void discard() noexcept;

  GpuDevice& gpu_;
  bool on_ = false;
  Event base_ = nullptr;  // where the clock begins
  double base_at_ = 0;    // its time
  std::map<Stream, Queue> queues_;
  std::size_t open_ = 0, resolve_at_ = 0;  // pieces in queues, and when to ask for them
  BusyTimes busy_;
};

}  // namespace sial::cuda
