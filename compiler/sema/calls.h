#pragma once
// Checks that need the call graph: indices bound by the callers of a procedure, loops over busy indices, and statements
// that must not happen inside a pardo, directly or through calls. Also decides which procedures are reachable.

#include <vector>

#include "compiler/sema/checked.h"
#include "compiler/sema/routine.h"

namespace sial::sema {

void check_calls(CheckedProgram& program, const std::vector<Routine>& routines, Emitter& emitter);

}  // namespace sial::sema
