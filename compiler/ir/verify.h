#pragma once
// Invariants of the IR that every pass must keep. A violation is a bug of the compiler and stops it, naming the pass.

#include <string_view>

#include "compiler/ir/ir.h"

namespace sial::ir {

void verify(const Program& program, std::string_view after_pass);

}  // namespace sial::ir
