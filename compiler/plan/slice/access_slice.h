#pragma once
// The pass that makes access slices (compiler/plan/README.md): for each pardo, and each outermost serial loop outside
// of pardos that gets or puts, the part that decides what it gets and puts. The runtime carries it out ahead of the
// program and asks for the blocks early. A serial loop in which ranks meet (barriers, collectives, pardos) has none of
// its own; the loops inside it have.

#include "compiler/plan/plan.h"

namespace sial::plan {

void access_slice(ir::Program& program, Plan& plan);

}  // namespace sial::plan
