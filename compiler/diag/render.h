#pragma once
// Diagnostics as people and editors read them: pure functions from values to text.

#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace sial {

/// `file:line:col: error: message [E-CODE]`, the source line, carets below the span, `hint:` and `note:` lines.
std::string render_text(const Diagnostic& diagnostic, const SourceManager& sources);

/// One JSON object per line: code, severity, message, hint, file, line, column, endLine, endColumn (exclusive), notes,
/// fixes.
std::string render_json(const Diagnostic& diagnostic, const SourceManager& sources);

/// The diagnostics in the order of their places: files as they were read, then line and column; exact repetitions once.
std::vector<Diagnostic> in_source_order(const std::vector<Diagnostic>& diagnostics);

/// All of them in that order as text, but of each warning only the first fifty; a line at the end says how many more
/// there are.
std::string render_list(const std::vector<Diagnostic>& diagnostics, const SourceManager& sources);

/// "3 errors and 1 warning", or empty when there is neither.
std::string count_text(int errors, int warnings);

}  // namespace sial
