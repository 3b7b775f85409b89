#pragma once
// The instructions that decide where control goes: the backward slice of all conditions (where clauses and ifs),
// through declared variables and procedures, without regard to order for declared variables. Temporaries never outlive
// their statement, so that they are followed exactly. Tainted is what may depend on block data, super instructions or
// the other ranks.

#include <vector>

#include "compiler/analysis/calls.h"

namespace sial::analysis {

class Control {
 public:
  explicit Control(const ir::Program& program);
  /// The instruction's result may decide control.
  bool decides(ir::NodeId node) const { return decides_[static_cast<std::size_t>(node)]; }
  /// The condition of an if, or of some where clause of a loop, may depend on data.
  bool tainted(ir::NodeId node) const { return tainted_[static_cast<std::size_t>(node)]; }
  bool int_decides(std::int32_t reg) const { return ints_[static_cast<std::size_t>(reg)]; }
  bool scalar_decides(std::int32_t reg) const { return scalars_[static_cast<std::size_t>(reg)]; }
  bool int_tainted(std::int32_t reg) const { return tainted_ints_[static_cast<std::size_t>(reg)]; }
  bool scalar_tainted(std::int32_t reg) const { return tainted_scalars_[static_cast<std::size_t>(reg)]; }

 private:
  struct Builder;
  std::vector<char> decides_, tainted_;                                // by node
  std::vector<char> ints_, scalars_, tainted_ints_, tainted_scalars_;  // by declared variable
};

}  // namespace sial::analysis
