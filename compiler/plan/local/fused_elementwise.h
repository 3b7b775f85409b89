#pragma once
// Statements that follow each other and work on one block element by element are marked, so that they may run as one
// pass over its memory instead of one pass each.

#include "compiler/plan/plan.h"

namespace sial::plan {

void fuse_elementwise(ir::Program& program, Plan& plan);

}  // namespace sial::plan
