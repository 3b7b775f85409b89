#pragma once
// `put y = x` of a fetched block of another remote array: where both blocks lie on this rank's node they share one copy
// of the data.

#include "compiler/plan/plan.h"

namespace sial::plan {

void share_puts(ir::Program& program, Plan& plan);

}  // namespace sial::plan
