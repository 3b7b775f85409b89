#include "runtime/core/device/cuda/timer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sial::cuda {
namespace {

constexpr std::size_t batch = 1024;
/// The driver tells milliseconds as a float, which is exact to a tenth of a microsecond for so many seconds.
constexpr double max_from_base = 1.0;

}  // namespace

WorkTimer::~WorkTimer() { discard(); }

void WorkTimer::discard() noexcept {
  for (auto& [stream, queue] : queues_)
    for (const Timed& piece : queue.pieces) {
      gpu_.give_timed_event(piece.begin);
      gpu_.give_timed_event(piece.end);
    }
  queues_.clear();
  open_ = 0;
  if (base_) gpu_.give_timed_event(base_);
}

void WorkTimer::take(bool on, Stream any) {
  on_ = on;
  if (!on || base_) return;
  base_ = gpu_.take_timed_event();
  on_ = base_ && gpu_.check(gpu_.driver().cuEventRecord(base_, any), "recording an event");
  resolve_at_ = batch;
}

// Errors of the driver stay until a call that may throw meets them.

WorkTimer::Piece::Piece(WorkTimer& timer, Stream stream, DeviceWork kind)
    : timer_(timer), stream_(stream), kind_(kind) {
  if (!timer_.on_) return;
  begin_ = timer_.gpu_.take_timed_event();
  if (begin_ && timer_.gpu_.driver().cuEventRecord(begin_, stream_) != Status::success)
    timer_.gpu_.give_timed_event(std::exchange(begin_, nullptr));
}

WorkTimer::Piece::~Piece() {
  if (!begin_) return;
  const Event end = timer_.gpu_.take_timed_event();
  if (!end || timer_.gpu_.driver().cuEventRecord(end, stream_) != Status::success) {
    timer_.gpu_.give_timed_event(begin_);
    if (end) timer_.gpu_.give_timed_event(end);
    return;
  }
  timer_.queues_[stream_].pieces.push_back({kind_, begin_, end});
  if (++timer_.open_ >= timer_.resolve_at_) timer_.resolve();
}

/// False when one of them was not reached, or the device is lost.
bool WorkTimer::ask(Event begin, Event end, double& seconds) {
  float milliseconds = 0;
  if (gpu_.driver().cuEventElapsedTime(&milliseconds, begin, end) != Status::success) return false;
  seconds = std::max(0.0, static_cast<double>(milliseconds) * 1e-3);
  return true;
}

bool WorkTimer::resolve(const Timed& piece, Queue& queue) {
  double from_base = 0, length = 0;
  if (!ask(piece.begin, piece.end, length) || !ask(base_, piece.begin, from_base)) return false;
  // Pieces of a stream follow each other; a clock of some resolution may see that otherwise.
  const double begin = std::max(base_at_ + from_base, queue.last);
  queue.last = begin + length;
  busy_.add(piece.kind, begin, queue.last);
  return true;
}

void WorkTimer::resolve() {
  double horizon = std::numeric_limits<double>::infinity(), latest = base_at_;
  Event newest = nullptr;
  for (auto& [stream, queue] : queues_) {
    while (!queue.pieces.empty() && resolve(queue.pieces.front(), queue)) {
      gpu_.give_timed_event(queue.pieces.front().begin);
      if (queue.last > latest) {
        if (newest) gpu_.give_timed_event(newest);
        newest = queue.pieces.front().end;
        latest = queue.last;
      } else {
        gpu_.give_timed_event(queue.pieces.front().end);
      }
      queue.pieces.pop_front();
      --open_;
    }
    if (!queue.pieces.empty()) horizon = std::min(horizon, queue.last);
  }
  // New work begins after all that was reached, where nothing is open.
  if (open_ == 0) horizon = latest;
  busy_.sum_up(std::min(horizon, latest));
  if (open_ == 0 && latest - base_at_ > max_from_base && newest) {
    gpu_.give_timed_event(std::exchange(base_, std::exchange(newest, nullptr)));
    base_at_ = latest;
  }
  if (newest) gpu_.give_timed_event(newest);
  resolve_at_ = open_ + batch;
}

DeviceTimes WorkTimer::times() {
  for (auto& [stream, queue] : queues_)
    if (!queue.pieces.empty()) gpu_.finish(queue.pieces.back().end, "waiting for work");
  resolve();
  return busy_.sums();
}

}  // namespace sial::cuda
