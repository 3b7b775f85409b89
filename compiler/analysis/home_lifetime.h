#pragma once
// The lifetime of the values of remote arrays at their homes: after which barriers no value that an array holds is used
// again, by any rank on any path. It is used by what reads it (a get, a use of a fetched copy, an addition to it,
// set_persistent); it ends when the array is deleted, or replaced by a loop nest that puts every block that exists.
//
// Errs towards used. A nest counts as replacing an array in two cases: every iteration of loops over just the block's
// own indices, in the declared ranges, puts a block; or all puts of the program to the array stand in the nest, and
// nothing but indices and literals decides which blocks they name, so that each execution puts the same ones. There is
// no exit in the nest, and nothing reads the array in its phase: the phase rule then orders every read of the new
// values after a barrier. All ranks execute the nest: those that come to the next barrier have been through the same
// statements, but for branches and loops, of which nothing counts as replaced after them. Every node is visited twice.

#include <unordered_map>
#include <vector>

#include "compiler/analysis/phases.h"

namespace sial::analysis {

class HomeLifetimes {
 public:
  explicit HomeLifetimes(const ir::Program& program);
  /// Whether no value that the array holds when the barrier ends is used later. False for other nodes.
  bool dead_after(ir::NodeId barrier, ArrayId array) const;
  const Phases& phases() const { return phases_; }

 private:
  Phases phases_;
  std::unordered_map<ir::NodeId, std::vector<char>> used_;  // by barrier: used later, by array
};

}  // namespace sial::analysis
