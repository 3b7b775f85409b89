#pragma once
// Decisions of the optimisation passes about a program: tables keyed by the IR's node ids, and the remarks that tell
// the user. A pass is a function `void pass(ir::Program&, Plan&)` of its own file pair; it may rewrite the IR (new
// nodes get ids from new_id()) and add to the plan. emit() obeys the plan and adds nothing. Built once per compilation;
// refers to nothing.

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/core/bytecode/module.h"

namespace sial::plan {

/// The access slice of a loop: actions of nodes in the loop and in procedures called from it. The action of a Loop or
/// If node is that of the instructions which control it. Nodes without one are passed over.
struct Slice {
  ir::NodeId loop = 0;
  std::map<ir::NodeId, SliceAction> actions;
};

struct Plan {
  int level = 0;  // 1 for -O1, 2 for -O2
  std::vector<RemarkRow> remarks;
  std::unordered_set<std::string> said;  // keys of remarks that are given once, however often a pass comes by
  std::vector<Slice> slices;
};

inline ir::NodeId new_id(ir::Program& program) { return program.n_nodes++; }

/// Slices and remarks as text, one line each; remarks in source order.
std::string print(const ir::Program& program, const Plan& plan);

/// "passed", "missed", "analysis".
const char* remark_kind_text(RemarkKind kind);

}  // namespace sial::plan
