#pragma once
// `put x += t` inside a loop that comes back to the same block: each rank adds its contributions up and sends one. The
// store decides at run time (blocks of other nodes, and those that somebody else is just adding to) and sends early
// whatever has to be seen; this pass finds the statements for which holding contributions back can pay, and marks the
// ends of their loops, where the store gets the chance to drop what it holds.

#include "compiler/plan/plan.h"

namespace sial::plan {

void combine_puts(ir::Program& program, Plan& plan);

}  // namespace sial::plan
