#pragma once
// Errors of a file that the grammar does not accept, or whose closing names disagree. The file is read line by
// line: a line that is no statement is reported and skipped, closers find their openers by kind and name. Private to
// the parser.

#include <vector>

#include "compiler/ast/build_probe.h"
#include "compiler/ast/build_tokens.h"
#include "compiler/diag/diagnostic.h"

namespace sial::parsing {

void diagnose_lines(const std::vector<Line>& lines, const SourceManager& sources, FileId file, Emitter& emitter,
                    ProbeMemo* memo = nullptr);

}  // namespace sial::parsing
