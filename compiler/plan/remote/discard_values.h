#pragma once
// Values of remote arrays that nobody uses after a barrier: a `discard_values` for the array right after it tells the
// store that it need not keep them. With tiers (--spill) such blocks leave memory without being written.

#include "compiler/plan/plan.h"

namespace sial::plan {

void discard_values(ir::Program& program, Plan& plan);

}  // namespace sial::plan
