#pragma once
// A device's time by its use, from the beginnings and ends of its pieces of work: how long it was at kernels, at copies
// either way, and at both, however many streams were. Pieces may come in any order. What nothing added later can
// touch is summed up and forgotten. A value.

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/core/stats/counter_field.h"

namespace sial {

/// Seconds.
struct DeviceTimes {
#define COUNTED_timed(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/core/stats/counters.def"
  DeviceTimes since(const DeviceTimes& start) const;
};

enum class DeviceWork { kernel, in, out };

class BusyTimes {
 public:
  /// Seconds on one clock, `end` not before `begin`. What is summed up is not counted again.
  void add(DeviceWork kind, double begin, double end);
  /// All that is added from now on begins at `until` or later.
  void sum_up(double until);
  /// Pieces that are not summed up.
  std::size_t open() const { return pieces_.size(); }
  /// The sums of all pieces; `waited` is not known here.
  DeviceTimes sums() const;

 private:
  struct Piece {
    DeviceWork kind;
    double begin, end;
  };
  static void sweep(const std::vector<Piece>& pieces, double until, DeviceTimes& sums);

  std::vector<Piece> pieces_;
  DeviceTimes summed_;
  double summed_until_ = -std::numeric_limits<double>::infinity();
};

}  // namespace sial
