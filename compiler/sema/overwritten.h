#pragma once
// Values that are lost: those that a serial loop computes anew in each iteration and nobody reads before the next one
// replaces them, `=` where
// `+=` was meant, and those of pardos that nothing in the program reads.

#include "compiler/sema/checked.h"

namespace sial::sema {

void warn_overwritten(const CheckedProgram& program, Emitter& emitter);

}  // namespace sial::sema
