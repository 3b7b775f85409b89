#pragma once
// The speed of a tier, from what it did: bandwidth is bytes moved while something was under way, by the time of that;
// latency is the time of a small read. Newer samples count more. Not safe for threads: its owner has a lock.

#include <cstddef>

#include "runtime/core/tier/tier.h"

namespace sial {

class SpeedMeter {
 public:
  void begin(bool write, double now);
  /// `bytes`: 0 when it failed.
  void end(bool write, std::size_t bytes, double begun, double now);
  const TierSpeed& speed() const { return speed_; }

 private:
  struct Direction {
    int under_way = 0;
    double since = 0;  // when the time that `busy` lacks began
    double busy = 0, bytes = 0;
  };

  Direction read_, write_;
  TierSpeed speed_;
};

}  // namespace sial
