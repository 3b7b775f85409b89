#pragma once
// How work of one composition, which comes again and again, is started: piece by piece or as a graph. The first time it
// goes piece by piece, so that all it needs is there; graphs that cannot be made, or not be made use of again, end in
// piece by piece for good. In between both ways take turns on the host's clock, unless graphs are asked for, and the
// way with the lower median stays. A value.

#include <array>
#include <vector>

#include "runtime/device/device.h"

namespace sial {

class GroupTrial {
 public:
  enum class Way { pieces, graph };
  /// Of each way, on the clock.
  static constexpr std::size_t rounds = 5;
  static constexpr int max_failures = 4;

  explicit GroupTrial(DeviceGraphs when) : when_(when) {}
  Way next() const;
  /// That it was started in this way, and what it took the host. The first of each is not on the clock: it makes what
  /// the others use again.
  void took(Way way, double seconds);
  /// A graph could not be made, or not be used again.
  void failed() { ++failures_; }
  /// Nothing but an end of graphs, by failures, changes next() from here on.
  bool decided() const;

 private:
  struct Times {
    bool begun = false;
    std::vector<double> seconds;  // in order
  };
  const Times& of(Way way) const { return times_[static_cast<std::size_t>(way)]; }

  DeviceGraphs when_;
  std::array<Times, 2> times_;
  int failures_ = 0;
};

}  // namespace sial
