#include <algorithm>
#include <utility>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/table.h"

namespace sial {
namespace {

bool names_row(const std::vector<std::string>& groups, const DiagnosticRow& row) {
  return std::any_of(groups.begin(), groups.end(), [&](const std::string& group) { return in_group(row, group); });
}

bool names_code_itself(const std::vector<std::string>& groups, const DiagnosticRow& row) {
  DiagnosticRow alone = row;
  alone.group = {};
  return names_row(groups, alone);
}

/// The more exact name wins: -Wno-unused -Wunused-array keeps unused arrays, -Wunused -Wno-unused-array drops them.
bool is_enabled(const WarningOptions& options, const DiagnosticRow& row) {
  if (options.none) return false;
  if (names_code_itself(options.disabled, row)) return false;
  if (names_code_itself(options.enabled, row) || names_row(options.as_error, row)) return true;
  if (names_row(options.disabled, row)) return false;
  return row.group != "strict" || names_row(options.enabled, row);
}

}  // namespace

Diagnostic& Emitter::report(Code code, Span span, std::string message, std::string hint) {
  const DiagnosticRow& row = row_of(code);
  Diagnostic diagnostic{code, row.severity, span, std::move(message), std::move(hint), {}, {}};
  if (row.severity == Severity::warning) {
    if (!is_enabled(options_, row)) {
      dropped_ = std::move(diagnostic);
      return dropped_;
    }
    if (options_.all_errors || names_row(options_.as_error, row)) diagnostic.severity = Severity::error;
  }
  (diagnostic.severity == Severity::error ? errors_ : warnings_) += 1;
  diagnostics_.push_back(std::move(diagnostic));
  return diagnostics_.back();
}

}  // namespace sial
