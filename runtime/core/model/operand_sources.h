#pragma once
// The cache or memory that the operands of a program's instructions come from: a block that a loop does not move away
// from is found again after one iteration of that loop, after everything else which that iteration touches. Facts of a
// counted program (work_count.h).

#include <map>
#include <set>
#include <vector>

#include "runtime/core/interp/context/bind.h"
#include "runtime/core/model/work_count.h"

namespace sial {

/// Elements of a reference's mean block.
double mean_elements(const BoundProgram& bound, std::int32_t ref);

class OperandSources {
 public:
  OperandSources(const Module& module, const BoundProgram& bound, const WorkCount& work);

  /// The bytes touched between two uses of a block, and the part of the uses for which that holds.
  struct Distance {
    double bytes = 0, part = 0;
  };
  /// The distances of a reference of an instruction in a nest. The parts add up to 1.
  std::vector<Distance> distances(std::int32_t nest, std::int32_t ref) const;

 private:
  struct Touched {
    double bytes = 0, whole = 0;
    std::set<IndexId> indices;
  };  // whole: of the array
  using Footprint = std::map<std::vector<std::int32_t>, Touched>;  // by array and entries

  double trips(const LoopNest& nest) const { return nest.opened > 0 ? nest.iterations / nest.opened : 0.0; }
  Touched touched(std::int32_t ref) const;
  std::vector<std::int32_t> key(std::int32_t ref) const;

  const Module& m_;
  const BoundProgram& bound_;
  const WorkCount& work_;
  std::vector<double> iteration_bytes_;  // per nest: of one iteration
};

}  // namespace sial
