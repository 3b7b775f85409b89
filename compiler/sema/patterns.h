#pragma once
// Warnings that show in the shape of the program, without following its execution: puts that several iterations of a
// pardo race for, fetched blocks nobody uses, locals never given a value, barriers in a row, signatures that no super
// instruction accepts.

#include <vector>

#include "compiler/sema/checked.h"
#include "compiler/sema/text.h"

namespace sial::sema {

void warn_patterns(const CheckedProgram& program, const CheckOptions& options, Emitter& emitter);

/// Whether a relation fixes the value of an index: `i == ..`.
bool fixes(const CheckedProgram& program, const ast::Relation& relation, SymbolId index);
/// The indices of a pardo that `labels` does not mention, so that several iterations name the same block. Indices fixed
/// by a where clause or with a single value do not count.
std::vector<SymbolId> unmentioned(const CheckedProgram& program, const ast::Stmt& pardo,
                                  const std::vector<Label>& labels);

}  // namespace sial::sema
