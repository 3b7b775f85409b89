#pragma once
// How often a program executes its instructions in a job, and in which nests of loops: an abstract interpretation with numbers of
// indices and ints, but no data. A loop whose index decides no condition is gone through once and counts as often as it has values;
// others are followed value by value, long ones by a sample of their values. Where data decide, each way counts half, and a loop that
// data end counts a usual number of iterations. Numbers of all ranks together for pardos, of one rank for what every rank does.

#include <cstdint>
#include <vector>

#include "runtime/bytecode/module.h"
#include "runtime/interp/bind.h"
#include "runtime/job/job_data.h"
#include "runtime/plan/registers.h"

namespace sial {

/// A loop where it stands in the program's nest of loops and calls; the first one is the main body.
struct LoopNest {
  std::int32_t loop = -1;    // row; -1: the main body
  std::int32_t parent = -1;  // nest
  bool in_pardo = false;     // a pardo, or inside of one: its work is divided among the ranks
  double opened = 0, iterations = 0;                   // iterations that pass the where clauses, of all openings
  std::vector<double> executions;                       // by code position
};

struct WorkCount {
  std::vector<LoopNest> nests;  // parents before their children
};

/// `max_steps`: instructions looked at before further loops are sampled by one value.
WorkCount count_work(const Module& module, const BoundProgram& bound, const JobData& job, std::int64_t max_steps);

}  // namespace sial
