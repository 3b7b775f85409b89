#include "compiler/diag/warning_words.h"

#include <fmt/format.h>

#include "compiler/diag/table.h"

namespace sial {

std::string read_warnings(const std::vector<std::string>& words, WarningOptions& out) {
  for (const std::string& word : words) {
    std::string group = word;
    std::vector<std::string>* list = &out.enabled;
    if (word == "error") {
      out.all_errors = true;
      continue;
    }
    if (word.starts_with("error=")) {
      group = word.substr(6);
      list = &out.as_error;
    } else if (word.starts_with("no-")) {
      group = word.substr(3);
      list = &out.disabled;
    }
    bool known = group == "all" && list == &out.enabled;
    for (const DiagnosticRow& row : diagnostic_rows())
      known = known || (row.severity == Severity::warning && in_group(row, group));
    if (!known) {
      std::string hint;
      for (const std::string_view code : similar_codes("W-" + group))
        if (code.front() == 'W') hint += (hint.empty() ? "; similar: " : ", ") + std::string(code);
      return fmt::format("-W{}: no warning is called `{}`{} (`sialc --explain list` shows all)", word, group, hint);
    }
    list->push_back(group);
  }
  return {};
}

}  // namespace sial
