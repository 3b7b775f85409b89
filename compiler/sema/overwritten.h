#pragma once
// Values that a serial loop computes anew in each iteration and nobody reads before the next one replaces them: `=` where `+=` was meant.

#include "compiler/sema/checked.h"

namespace sial::sema {

void warn_overwritten(const CheckedProgram& program, Emitter& emitter);

}  // namespace sial::sema
