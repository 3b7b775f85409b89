#pragma once
// The rows of diagnostics.def as data, for rendering, -W options and --explain.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace sial {

struct DiagnosticRow {
  Code code;
  std::string_view name;  // "E-DUP"
  Severity severity;
  std::string_view group, title, explanation, example;
};

const std::vector<DiagnosticRow>& diagnostic_rows();
const DiagnosticRow& row_of(Code code);

/// Row of a code by name, any case; nullptr when there is none.
const DiagnosticRow* find_row(std::string_view name);

/// Codes that resemble `name`, best first, at most `limit`.
std::vector<std::string_view> similar_codes(std::string_view name, std::size_t limit = 4);

/// True when `group`, as written after -W, names this warning: its own name ("unused-array") or its family ("unused",
/// "phase").
bool in_group(const DiagnosticRow& row, std::string_view group);

/// Number of edits (insert, delete, replace, exchange of neighbours) between two words.
int edit_distance(std::string_view a, std::string_view b);

/// Breaks a paragraph into lines of at most 78 columns, each after `indent`.
std::string wrap_text(std::string_view text, std::string_view indent);

/// Text of `sialc --explain CODE`, and of `--explain list`.
std::string explain(const DiagnosticRow& row);
std::string explain_list();

}  // namespace sial
