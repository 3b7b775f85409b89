#pragma once
// Values that may differ between workers: follows those that come from the worker's number, from its share of a pardo,
// from earlier programs, or from super instructions that are not in the runtime's table. Decides
// PardoInfo::rank_dependence and warns about collective statements that only some workers may reach.

#include "compiler/sema/checked.h"

namespace sial::sema {

void follow_ranks(CheckedProgram& program, Emitter& emitter);

}  // namespace sial::sema
