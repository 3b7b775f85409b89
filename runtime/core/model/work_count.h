#pragma once
// The executions of a program's instructions in a job, and in which nests of loops: an abstract interpretation with
// numbers of indices and ints, but no data. A loop whose index decides no condition is gone through once and counts as
// often as it has values; others are followed value by value, long ones by a sample of their values. Where data decide,
// each way counts half, and a loop that data end counts a usual number of iterations. Numbers of all ranks together for
// pardos, of one rank for what every rank does.

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/job/job_data.h"
#include "runtime/core/model/memory/registers.h"

namespace sial {

/// Numbers by code position: a loop's own code, and that of the procedures that it calls.
class CodeCounts {
 public:
  CodeCounts() = default;
  CodeCounts(std::int32_t begin, std::int32_t end) : begin_(begin), own_(static_cast<std::size_t>(end - begin)) {}
  double& operator[](std::int32_t pc) { return is_own(pc) ? own_[static_cast<std::size_t>(pc - begin_)] : called_[pc]; }
  double at(std::int32_t pc) const {
    if (is_own(pc)) return own_[static_cast<std::size_t>(pc - begin_)];
    const auto found = called_.find(pc);
    return found == called_.end() ? 0.0 : found->second;
  }
  /// Calls f(position, number) for all that are not zero.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < own_.size(); ++i)
      if (own_[i] > 0) f(begin_ + static_cast<std::int32_t>(i), own_[i]);
    for (const auto& [pc, n] : called_)
      if (n > 0) f(pc, n);
  }

 private:
  bool is_own(std::int32_t pc) const { return pc >= begin_ && pc - begin_ < static_cast<std::int32_t>(own_.size()); }

  std::int32_t begin_ = 0;
  std::vector<double> own_;
  std::map<std::int32_t, double> called_;
};

/// A loop where it stands in the program's nest of loops and calls; the first one is the main body.
struct LoopNest {
  std::int32_t loop = -1;             // row; -1: the main body
  std::int32_t parent = -1;           // nest
  bool in_pardo = false;              // a pardo, or inside of one: its work is divided among the ranks
  double opened = 0, iterations = 0;  // iterations that pass the where clauses, of all openings
  CodeCounts executions;
};

struct WorkCount {
  std::vector<LoopNest> nests;  // parents before their children
  std::int64_t steps = 0;       // instructions looked at
};

inline constexpr std::int32_t usual_iterations = 12;  // of a loop that data end

/// `max_steps`: about so many instructions are looked at; of long loops a sample is followed that keeps to it.
/// `iterations`: of a loop that data end.
WorkCount count_work(const Module& module, const BoundProgram& bound, const JobData& job, std::int64_t max_steps,
                     std::int32_t iterations = usual_iterations);

}  // namespace sial
