#pragma once
// Text of a Program, for `--emit=ir` and `--dump-after`: declarations, then one instruction per line with its source
// place.

#include <string>

#include "compiler/ir/ir.h"

namespace sial::ir {

std::string print(const Program& program);

/// A node without what is inside it and without its place: `do i`, `if %i2`, `get a[i,j]:read`.
std::string head(const Program& program, const Node& node);

}  // namespace sial::ir
