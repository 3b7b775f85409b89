#pragma once
// Reuse of the blocks that a get asks for, for programs whose arrays do not fit into memory: remarks only.
// Nothing is changed.

#include "compiler/plan/plan.h"

namespace sial::plan {

void point_out_reuse(ir::Program& program, Plan& plan);

}  // namespace sial::plan
