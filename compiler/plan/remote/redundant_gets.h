#pragma once
// A get of a block that this rank holds already, on every path, does nothing: it goes away.

#include "compiler/plan/plan.h"

namespace sial::plan {

void drop_redundant_gets(ir::Program& program, Plan& plan);

}  // namespace sial::plan
