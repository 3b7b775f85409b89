#pragma once
// Block statements that give the same value in every iteration of a loop are carried out once each time the loop runs,
// where an iteration first comes to them: never before one would. Their temp then lives as long as one made in front of
// the loop.

#include "compiler/plan/plan.h"

namespace sial::plan {

void compute_once(ir::Program& program, Plan& plan);

}  // namespace sial::plan
