#pragma once
// Lowers a checked program to IR. Total: whatever check() accepted has a translation; anything else is a bug of ours.

#include <span>
#include <string>

#include "compiler/ir/ir.h"
#include "compiler/sema/checked.h"

namespace sial::ir {

Program build(const CheckedProgram& checked, const SourceManager& sources);

/// Adds `set_persistent NAME "NAME"` at the beginning for each distributed or served array of these names that the
/// program does not save by itself.
void save_at_end(Program& program, std::span<const std::string> arrays);

}  // namespace sial::ir
