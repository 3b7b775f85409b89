#pragma once
// Best-of-several timing of contenders that take turns, so that a slow spell of the machine meets all of them. Time is
// that of the calling thread on its processor (other people's load does not count) unless wall time is asked for, as
// kernels with threads need.

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace bench {

struct Contender {
  std::string name;
  std::function<void()> run;
  double seconds = std::numeric_limits<double>::infinity();  // best per call
};

struct Clock {
  bool wall = false;
  double now() const;
};

struct Effort {
  double seconds = 0.1;  // spent per contender, about
  int rounds = 2;        // at least, beside the first call
};

/// Fills `seconds` of every contender.
void measure(std::vector<Contender>& contenders, const Clock& clock, const Effort& effort);

}  // namespace bench
