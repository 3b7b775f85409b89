#include "runtime/core/device/measure/busy_times.h"

#include <algorithm>
#include <array>

#include "runtime/core/base/check.h"

namespace sial {

DeviceTimes DeviceTimes::since(const DeviceTimes& start) const {
  DeviceTimes t;
#define SUBTRACT(...) __VA_OPT__(t.__VA_ARGS__ = __VA_ARGS__ - start.__VA_ARGS__;)
#define COUNTED_timed(field) field
#define COUNTER(number, name, unit, combine, by, meaning) SUBTRACT(COUNTED_##by)
#include "runtime/core/stats/counters.def"
#undef SUBTRACT
  return t;
}

void BusyTimes::add(DeviceWork kind, double begin, double end) {
  SIAL_CHECK(begin <= end, "a piece of work of a device ends {} s before it begins", begin - end);
  ++summed_.pieces;
  if (end > summed_until_) pieces_.push_back({kind, std::max(begin, summed_until_), end});
}

/// Adds what lies before `until`.
void BusyTimes::sweep(const std::vector<Piece>& pieces, double until, DeviceTimes& sums) {
  struct Edge {
    double at;
    DeviceWork kind;
    int step;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * pieces.size());
  for (const Piece& p : pieces) {
    if (p.begin >= until) continue;
    edges.push_back({p.begin, p.kind, 1});
    edges.push_back({std::min(p.end, until), p.kind, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  std::array<int, 3> active{};
  double last = 0;
  for (const Edge& e : edges) {
    const double length = e.at - last;
    last = e.at;
    const bool kernel = active[static_cast<std::size_t>(DeviceWork::kernel)] > 0,
               in = active[static_cast<std::size_t>(DeviceWork::in)] > 0,
               out = active[static_cast<std::size_t>(DeviceWork::out)] > 0;
    if (kernel) sums.kernels += length;
    if (in) sums.in += length;
    if (out) sums.out += length;
    if (in || out) sums.copies += length;
    if (kernel && (in || out)) sums.overlapped += length;
    active[static_cast<std::size_t>(e.kind)] += e.step;
  }
}

void BusyTimes::sum_up(double until) {
  sweep(pieces_, until, summed_);
  summed_until_ = std::max(summed_until_, until);
  std::erase_if(pieces_, [&](const Piece& p) { return p.end <= until; });
  for (Piece& p : pieces_) p.begin = std::max(p.begin, until);
}

DeviceTimes BusyTimes::sums() const {
  DeviceTimes all = summed_;
  sweep(pieces_, std::numeric_limits<double>::infinity(), all);
  return all;
}

}  // namespace sial
