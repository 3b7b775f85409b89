#pragma once
// Numbers of executions: the iterations of every loop and the executions of every node, as expressions in the numbers
// of segments. Conditions on indices (where clauses and ifs) are counted exactly where two unconstrained indices of
// equal range are compared, or an index with a number of its literal range; i < j over n segments each gives (n^2 - n)
// / 2. Everything else that may leave something out (data, exits, ints) makes the count an upper bound, with a guess
// what fraction of it runs.
//
// Nodes inside a pardo are counted over all ranks, the others on each rank (`per_rank`).

#include <vector>

#include "compiler/analysis/calls.h"
#include "runtime/core/base/ids.h"
#include "runtime/core/bytecode/cost.h"

namespace sial::analysis {

struct Executions {
  Cost most;              // exact, or an upper bound
  double fraction = 1.0;  // of it that probably runs: 1/2 for each condition that cannot be counted
  bool exact = true;
  bool per_rank = true;
  std::vector<IndexId> constrained;  // indices that are not free to take all values any more, sorted
  Cost expected() const { return most * fraction; }
};

struct LoopRange {
  Cost space;             // of one entry: tuples before the where clauses
  Executions body;        // iterations that the clauses let through, over the whole run
  bool may_exit = false;  // left early
};

class Ranges {
 public:
  explicit Ranges(const ir::Program& program);
  /// Takes a loop node: how often it is entered. Of an instruction of a where clause: for each tuple it is asked about.
  const Executions& of(ir::NodeId node) const { return nodes_[static_cast<std::size_t>(node)]; }
  const LoopRange& loop(ir::NodeId node) const {
    return loops_[static_cast<std::size_t>(loop_of_[static_cast<std::size_t>(node)])];
  }
  const Executions& of_proc(std::int32_t proc) const { return procs_[static_cast<std::size_t>(proc)]; }

 private:
  struct Builder;
  std::vector<Executions> nodes_;
  std::vector<std::int32_t> loop_of_;  // by node: row of loops_, -1
  std::vector<LoopRange> loops_;
  std::vector<Executions> procs_;
};

/// The rest of `from` after a comparison of ints. Operands are indices, or numbers known from the text (a literal).
struct Comparison {
  struct Side {
    IndexId index = no_index;
    std::int64_t number = 0;
    bool known = false;
  };
  Side left, right;
  Relop op = Relop::eq;
  bool on_ints = false;  // false: data or scalars are compared
};
Executions narrowed(const ir::Program& program, const Executions& from, const Comparison& comparison, bool truth);

/// The comparison that sets a condition's register: the last of a straight stretch of code [first, last).
Comparison comparison_of(const ir::Node* first, const ir::Node* last, std::int32_t condition);

Relop negated(Relop op);

}  // namespace sial::analysis
