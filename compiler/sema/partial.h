#pragma once
// Values that are complete only once the shares of all ranks are put together: scalars accumulated in a pardo, static
// and local arrays written in one. Warns where such a share is used as if it were the whole.

#include "compiler/sema/checked.h"

namespace sial::sema {

void warn_partial_values(const CheckedProgram& program, Emitter& emitter);

}  // namespace sial::sema
