#pragma once
// The time that a job may still take, from what is known while one of its pardos runs: an earlier run of the same job,
// or the serial loops around the pardo. Arithmetic only; times are in seconds on any one clock.

#include <cstdint>
#include <string>
#include <vector>

namespace sial {

/// A serial loop around the pardo.
struct LoopPace {
  std::int32_t line = 0;
  std::int64_t done = 0, total = 0;  // iterations completed, and of the whole range: an `exit` may end it earlier
  double begun = 0, iteration_begun = 0;
};

struct JobOutlook {
  std::int32_t program = 0, programs = 1;  // number of the running one, from 0
  double program_begun = 0;
  // The time of the same job before: the running program, and all after it. Negative: no earlier run is known.
  double earlier_program = -1, earlier_rest = 0;
  std::vector<LoopPace> loops;  // outermost first
};

/// "job: about 5 min 0 s left, as in its earlier run", or what one of the loops needs at most at the pace so far; empty
/// when nothing is known. `pardo_left`: seconds, negative when unknown.
std::string outlook_text(const JobOutlook& job, double now, double pardo_left);

}  // namespace sial
