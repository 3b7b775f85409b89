#include "compiler/diag/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace sial {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string wrap_text(std::string_view text, std::string_view indent) {
  std::string out, line(indent);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > 78) {
      out += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
    at = end + 1;
  }
  return out + line + "\n";
}

const std::vector<DiagnosticRow>& diagnostic_rows() {
  static const std::vector<DiagnosticRow> rows = {
#define DIAGNOSTIC(id, code, severity, group, title, explanation, example) \
  {Code::id, code, Severity::severity, group, title, explanation, example},
#include "compiler/diag/diagnostics.def"
#undef DIAGNOSTIC
  };
  return rows;
}

const DiagnosticRow& row_of(Code code) { return diagnostic_rows()[static_cast<std::size_t>(code)]; }

const DiagnosticRow* find_row(std::string_view name) {
  for (const auto& row : diagnostic_rows())
    if (lower(row.name) == lower(name)) return &row;
  return nullptr;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(row);
  }
  return previous[b.size()];
}

std::vector<std::string_view> similar_codes(std::string_view name, std::size_t limit) {
  const std::string wanted = lower(name);
  std::vector<std::pair<int, std::string_view>> found;
  for (const auto& row : diagnostic_rows()) {
    const std::string candidate = lower(row.name);
    int distance = edit_distance(wanted, candidate);
    // "rank" finds E-RANK, "unused" all of W-UNUSED-…: a part of a code counts as near.
    if (wanted.size() > 2 && candidate.find(wanted) != std::string::npos) distance = 1;
    if (distance <= 3) found.emplace_back(distance, row.name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < found.size() && i < limit; ++i) names.push_back(found[i].second);
  return names;
}

bool in_group(const DiagnosticRow& row, std::string_view group) {
  const std::string wanted = lower(group);
  return lower(row.name.substr(2)) == wanted || (!row.group.empty() && row.group == wanted);
}

std::string explain(const DiagnosticRow& row) {
  std::string out =
      fmt::format("{} ({}): {}\n\n", row.name, row.severity == Severity::error ? "error" : "warning", row.title);
  out += wrap_text(row.explanation, "") + "\nExample:\n";
  std::string_view example = row.example;
  while (!example.empty()) {
    const std::size_t end = std::min(example.find('\n'), example.size());
    out += fmt::format("    {}\n", example.substr(0, end));
    example.remove_prefix(std::min(end + 1, example.size()));
  }
  if (row.severity == Severity::warning) {
    const std::string own = lower(row.name.substr(2));
    out += fmt::format("\nSwitched off by -Wno-{0}, an error with -Werror={0}", own);
    if (row.group == "strict") out += fmt::format("; reported with -Wstrict or -W{} only", own);
    else if (!row.group.empty()) out += fmt::format("; belongs to the family `{}`", row.group);
    out += ".\n";
  }
  return out;
}

std::string explain_list() {
  std::string out;
  for (const auto& row : diagnostic_rows()) out += fmt::format("{:<24} {}\n", row.name, row.title);
  return out;
}

}  // namespace sial
