#pragma once
// Calls of super instructions whose arguments the table describes: ranges of indices that certainly are not those an
// argument needs.

#include "compiler/sema/checked.h"

namespace sial::sema {

void check_super_calls(const CheckedProgram& program, Emitter& emitter);

}  // namespace sial::sema
