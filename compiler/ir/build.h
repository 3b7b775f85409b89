#pragma once
// Lowers a checked program to IR. Total: whatever check() accepted has a translation; anything else is a bug of ours.

#include "compiler/ir/ir.h"
#include "compiler/sema/checked.h"

namespace sial::ir {

Program build(const CheckedProgram& checked, const SourceManager& sources);

}  // namespace sial::ir
