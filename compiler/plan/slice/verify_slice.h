#pragma once
// The verifier's rules for access slices: what look-ahead carries out is pure, can be known when it gets there, and
// leads to every fetch it makes. A violation aborts, as in verify.h.

#include "compiler/ir/ir.h"
#include "compiler/plan/plan.h"

namespace sial::plan {

void verify_slices(const ir::Program& program, const std::vector<Slice>& slices);

}  // namespace sial::plan
