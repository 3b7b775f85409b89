#pragma once
// Declarations that nothing uses, and data that two modules declare under one name. Only the main program's own
// declarations are looked at for the first: a file of definitions serves many programs.

#include <vector>

#include "compiler/sema/checked.h"
#include "compiler/sema/routine.h"

namespace sial::sema {

void warn_unused(const CheckedProgram& program, const std::vector<Routine>& routines, Emitter& emitter);

}  // namespace sial::sema
