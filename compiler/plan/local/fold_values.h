#pragma once
// Statements whose only purpose is to hand a value on are folded into the statement that uses it:
//   t = a*b, t *= c, s -= t     the product goes straight into s, times -c
//   t = a*b, t *= c             one product, scaled as it is formed
//   t[j,i] = x[i,j], s += t*y   the product reads x itself, in its order
// What stays behind of a folded statement is `expect`: the error it would have stopped at, with its place.

#include "compiler/plan/plan.h"

namespace sial::plan {

void fold_values(ir::Program& program, Plan& plan);

}  // namespace sial::plan
