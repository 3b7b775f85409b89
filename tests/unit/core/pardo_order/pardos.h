#pragma once
// Programs of one pardo, bound to jobs with equal AO segments.

#include <string>

#include "module_of.h"
#include "runtime/core/interp/order/choose_order.h"

namespace sial::test {

struct Pardo {
  Pardo(const std::string& declarations, const std::string& statements, int segments = 4, std::int32_t extent = 1)
      : module(module_of(std::string(four_indices) + declarations, statements)), job(job_of(segments, extent)) {
    bound = bind_program(module, job);
    std::vector<double> scalars;
    initial_values(module, job, ints, scalars);
    while (module.loops[static_cast<std::size_t>(loop)].kind != LoopKind::pardo) ++loop;
  }
  PardoOrder choose(std::int64_t capacity, int ranks = 1) const {
    return choose_order(bound, ints, loop, {capacity, ranks, ranks, {}});
  }

  Module module;
  JobData job;
  BoundProgram bound;
  std::vector<std::int32_t> ints;
  std::int32_t loop = 0;
};

}  // namespace sial::test
