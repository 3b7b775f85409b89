#pragma once
// Statements whose result nobody reads are dropped: a temp block assigned, or changed, and then replaced or gone with
// its iteration. What stays of them is `expect`, for the errors their operands could have been.

#include "compiler/plan/plan.h"

namespace sial::plan {

void drop_dead_stores(ir::Program& program, Plan& plan);

}  // namespace sial::plan
