#pragma once
// From symbols to table rows. Every declaration of every module gets a row, used or not: super instructions and job
// data find scalars and arrays by name. Procedures have rows only when reachable.

#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/sema/checked.h"

namespace sial::ir {

/// Row of each symbol in the table of its kind; -1 for symbols without one (program names, unreachable procedures).
using RowOfSymbol = std::vector<std::int32_t>;

/// Fills the tables of `program`; procedures get their names only.
RowOfSymbol make_tables(const CheckedProgram& checked, Program& program);

}  // namespace sial::ir
