#include "runtime/core/interp/context/job_outlook.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/interp/context/progress.h"

namespace sial {
namespace {

std::string program_text(const JobOutlook& job) {
  return job.programs > 1 ? fmt::format("program {} of {}, ", job.program + 1, job.programs) : std::string();
}

}  // namespace

std::string outlook_text(const JobOutlook& job, double now, double pardo_left) {
  if (job.earlier_program >= 0) {
    const double program_left = std::max({job.earlier_program - (now - job.program_begun), pardo_left, 0.0});
    return fmt::format("job: {}about {} left, as in its earlier run", program_text(job),
                       duration_text(program_left + job.earlier_rest));
  }
  // The first loop with a complete iteration: those around it have no pace yet.
  for (const LoopPace& loop : job.loops) {
    if (loop.done == 0 || loop.total < 2) continue;
    const double pace = (loop.iteration_begun - loop.begun) / static_cast<double>(loop.done);
    const double current = std::max({pace - (now - loop.iteration_begun), pardo_left, 0.0});
    const double left = current + pace * static_cast<double>(loop.total - loop.done - 1);
    return fmt::format("job: {}iteration {} of at most {} of the loop in line {}, which takes at most about {} more",
                       program_text(job), loop.done + 1, loop.total, loop.line, duration_text(left));
  }
  if (job.programs < 2) return {};
  return fmt::format("job: program {} of {}", job.program + 1, job.programs);
}

}  // namespace sial
