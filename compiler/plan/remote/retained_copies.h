#pragma once
// Copies of other nodes' blocks that outlive a barrier: of an array that no rank can have changed in the phase that
// ends there, and that may be got again before it is changed. In front of each such barrier stands a `keep_copies` for
// the array.

#include "compiler/plan/plan.h"

namespace sial::plan {

void keep_copies(ir::Program& program, Plan& plan);

}  // namespace sial::plan
