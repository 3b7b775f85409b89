#include "runtime/core/base/argument_rules.h"

#include <algorithm>
#include <iterator>

#include "runtime/core/base/shape.h"

namespace sial {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

DimensionRule dimension(std::string_view text) {
  DimensionRule rule;
  std::string_view word = text.substr(0, text.find(':'));
  const bool labelled = word.size() < text.size();
  if (!word.empty() && word.back() == '!') {
    rule.strict = true;
    word.remove_suffix(1);
  }
  if (word == "ao") rule.range = OrbitalRange::ao;
  else if (word == "mo") rule.range = OrbitalRange::mo;
  else if (word == "alpha") rule.range = OrbitalRange::alpha;
  else if (word == "beta") rule.range = OrbitalRange::beta;
  else if (word == "occ") rule.range = OrbitalRange::occupied;
  else if (word == "virt") rule.range = OrbitalRange::virtual_;
  else rule.label = word;
  if (labelled) rule.label = text.substr(text.find(':') + 1);
  return rule;
}

void read_shape(std::string_view text, ArgumentRule& rule) {
  rule.dimensions = text;
  if (text == "*") {
    rule.any_shape = true;
    return;
  }
  if (text.front() == '=') {
    rule.same_as = text.substr(1);
    return;
  }
  if (text.ends_with("..")) {
    rule.repeats = true;
    text.remove_suffix(2);
  }
  for (const std::string_view shape : split(text, '|')) {
    std::vector<DimensionRule>& dimensions = rule.shapes.emplace_back();
    for (const std::string_view word : split(shape, ',')) dimensions.push_back(dimension(word));
  }
}

}  // namespace

std::vector<DimensionRule> ArgumentRule::of_rank(int rank) const {
  for (const std::vector<DimensionRule>& shape : shapes) {
    const int once = static_cast<int>(shape.size());
    if (rank == once) return shape;
    if (!repeats || rank > max_rank || rank == 0 || rank % once != 0) continue;
    std::vector<DimensionRule> result;
    for (int d = 0; d < rank; d += once) std::copy(shape.begin(), shape.end(), std::back_inserter(result));
    return result;
  }
  return {};
}

std::vector<ArgumentRule> argument_rules(std::string_view text) {
  std::vector<ArgumentRule> rules;
  if (text.empty()) return rules;
  for (const std::string_view line : split(text, '\n')) {
    ArgumentRule& rule = rules.emplace_back();
    const std::size_t end = std::min(line.find(": "), line.size()), open = line.substr(0, end).find('[');
    rule.scalar = open == std::string_view::npos;
    if (rule.scalar) {
      rule.name = line.substr(0, end);
    } else {
      rule.name = line.substr(0, open);
      read_shape(line.substr(open + 1, end - open - 2), rule);
    }
    if (end < line.size()) rule.text = line.substr(end + 2);
  }
  return rules;
}

std::string_view range_words(OrbitalRange range) {
  switch (range) {
    case OrbitalRange::any: return "any range";
    case OrbitalRange::ao: return "basis functions";
    case OrbitalRange::mo: return "orbitals";
    case OrbitalRange::alpha: return "alpha orbitals";
    case OrbitalRange::beta: return "beta orbitals";
    case OrbitalRange::occupied: return "occupied orbitals";
    case OrbitalRange::virtual_: return "virtual orbitals";
  }
  return "";
}

}  // namespace sial
