#pragma once
// A barrier right after another one, nothing remote in between, goes away. Barriers with nothing remote before them on
// any path, but work of another kind, are only pointed out.

#include "compiler/plan/plan.h"

namespace sial::plan {

void drop_idle_barriers(ir::Program& program, Plan& plan);

}  // namespace sial::plan
