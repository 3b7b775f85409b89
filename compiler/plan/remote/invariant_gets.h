#pragma once
// A get in a serial loop that means the same block in every iteration is executed once, in the first iteration that
// comes to it.

#include "compiler/plan/plan.h"

namespace sial::plan {

void get_once(ir::Program& program, Plan& plan);

}  // namespace sial::plan
