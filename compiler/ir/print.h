#pragma once
// Text of a Program, for `--emit=ir` and `--dump-after`: declarations, then one instruction per line with its source place.

#include <string>

#include "compiler/ir/ir.h"

namespace sial::ir {

std::string print(const Program& program);

}  // namespace sial::ir
