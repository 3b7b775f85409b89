#pragma once
// Temps are freed at their last use where the iteration goes on and makes other blocks, which then find the memory.

#include "compiler/plan/plan.h"

namespace sial::plan {

void free_early(ir::Program& program, Plan& plan);

}  // namespace sial::plan
