// Pages about super instructions, for `sialc --explain` and `--list-instructions`.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "compiler/diag/table.h"
#include "compiler/sema/super_table.h"
#include "runtime/core/base/shape.h"

namespace sial {
namespace {

std::vector<std::string> signature_words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word == "-" ? "" : word);
  return words;
}

/// The direction of one argument in the accepted signatures.
std::string direction(const std::vector<std::string>& signatures, std::size_t k) {
  std::string letters;
  for (const std::string& s : signatures)
    if (k < s.size() && letters.find(s[k]) == std::string::npos) letters += s[k];
  if (letters == "r") return "read";
  if (letters == "w") return "written; filled with zero before";
  if (letters == "u") return "read and written";
  return letters.find('r') == std::string::npos ? "written" : "read or written, as declared";
}

/// "dimensions 1, 3, 5, 7: virtual orbitals".
std::string dimension_lines(const ArgumentRule& argument) {
  std::string out;
  if (argument.any_shape) return out;
  if (!argument.same_as.empty()) return fmt::format("       dimensions: those of {}\n", argument.same_as);
  for (const std::vector<DimensionRule>& shape : argument.shapes) {
    const std::vector<DimensionRule> dimensions = argument.repeats ? argument.of_rank(max_rank) : shape;
    std::vector<OrbitalRange> said;
    for (const DimensionRule& one : dimensions) {
      if (one.range == OrbitalRange::any || std::find(said.begin(), said.end(), one.range) != said.end()) continue;
      said.push_back(one.range);
      std::string numbers;
      for (std::size_t d = 0; d < dimensions.size(); ++d)
        if (dimensions[d].range == one.range) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", d + 1);
      const bool side = one.range == OrbitalRange::occupied || one.range == OrbitalRange::virtual_;
      out +=
          fmt::format("       dimension{} {}: {}{}\n", numbers.size() == 1 ? "" : "s", numbers, range_words(one.range),
                      !one.strict ? ""
                      : side      ? "; pairs of one sort are an error from rank 4 on"
                                  : "; anything else is an error");
    }
    std::vector<std::string> labels;
    for (const DimensionRule& one : dimensions) {
      const auto same = std::count_if(dimensions.begin(), dimensions.end(),
                                      [&](const DimensionRule& d) { return d.label == one.label; });
      if (one.label.empty() || same < 2 || std::find(labels.begin(), labels.end(), one.label) != labels.end()) continue;
      labels.push_back(one.label);
      out += fmt::format("       equal extents: dimensions called {}\n", one.label);
    }
  }
  return out;
}

}  // namespace

std::string explain_super(const SuperPage& page) {
  const std::vector<std::string> signatures = signature_words(page.signatures);
  std::string out = fmt::format("{} (super instruction): {}\n\nDeclare it:\n", page.name, page.meaning);
  for (const std::string& s : signatures)
    out += fmt::format("    special {}{}{}\n", page.name, s.empty() ? "" : " ", s);
  const bool optional = std::any_of(signatures.begin(), signatures.end(),
                                    [&](const std::string& s) { return s.size() < page.arguments.size(); });
  if (!page.arguments.empty()) {
    out += fmt::format("\nArguments{}:\n", optional ? " (with a shorter signature the first ones)" : "");
    for (std::size_t k = 0; k < page.arguments.size(); ++k) {
      const ArgumentRule& argument = page.arguments[k];
      out += fmt::format("    {}  {}{}: {}\n", k + 1, argument.name,
                         argument.scalar ? " (scalar)" : fmt::format("[{}]", argument.dimensions),
                         direction(signatures, k));
      out += wrap_text(argument.text, "       ") + dimension_lines(argument);
    }
  }
  if (!page.formula.empty()) out += "\nFormula:\n" + wrap_text(page.formula, "    ");
  if (!page.source.empty()) out += "\nSource:\n" + wrap_text(page.source, "    ");
  return out;
}

std::string list_super_instructions() {
  std::string out;
  for (const SuperPage& page : super_pages())
    out += fmt::format("{:<32} {:<12} {}\n", page.name, page.signatures, page.meaning);
  return out;
}

std::vector<std::string> similar_super_instructions(std::string_view name) {
  std::string wanted(name);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::pair<int, std::string>> found;
  for (const SuperPage& page : super_pages()) {
    const int distance = edit_distance(wanted, page.name);
    const bool part = wanted.size() > 3 && page.name.find(wanted) != std::string_view::npos;
    if (part || distance <= std::max(1, static_cast<int>(wanted.size()) / 3))
      found.emplace_back(part ? 0 : distance, page.name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < found.size() && i < 4; ++i) names.push_back(found[i].second);
  return names;
}

}  // namespace sial
