#pragma once
// Counting a program for a given job: how often each instruction runs and what it costs, with the job's ranges and
// segment extents. Control is followed as far as it does not depend on block data: loops whose index decides nothing
// are multiplied, others walked value by value, ints and scalars computed along the way. Where data decide, both ways
// count and the result is an upper bound with a guess beside it. Numbers are those of one rank running alone; inside
// pardos those of all ranks together.

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"

namespace sial::analysis {

struct Job {
  std::map<std::string, std::int32_t> ints;  // predefined, by name
  std::map<std::string, double> scalars;
  std::map<IndexKind, std::vector<std::int32_t>> segments;  // extents
  std::int64_t max_steps = 2'000'000;  // nodes visited before loops are multiplied whatever their index decides
};

struct NodeCount {
  double executions = 0, flops = 0, bytes = 0, moved = 0;  // totals
  double expected = 0;                                     // executions, with the guess for what data decide
  bool exact = true;
};

struct JobCounts {
  std::vector<NodeCount> nodes;    // by node id; of a pardo `executions` of its iterations are in `iterations`
  std::vector<double> iterations;  // by node id: of loops, iterations that pass the where clauses
  double pardo_iterations = 0, flops = 0, bytes = 0, moved = 0;
  double gets = 0, puts = 0, accumulates = 0, scalar_puts = 0, block_operations = 0, super_instructions = 0;
  bool exact = true;  // nothing was left to data
  bool ended = true;  // no `stop` was reached
};

/// Throws SialError when a predefined value or segments that the program uses are missing, or an index leaves its
/// segments.
JobCounts count_job(const ir::Program& program, const Job& job);

}  // namespace sial::analysis
