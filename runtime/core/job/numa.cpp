#include "runtime/core/job/numa.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"
#include "runtime/core/numa/page_calls.h"

namespace sial {

namespace {

constexpr std::string_view bind_to = "bind:";
constexpr std::array<std::pair<std::string_view, NumaPolicy>, 4> names = {{{"auto", NumaPolicy::automatic},
                                                                           {"local", NumaPolicy::local},
                                                                           {"interleave", NumaPolicy::interleave},
                                                                           {"off", NumaPolicy::off}}};
constexpr const char* policy_hint =
    "`auto`, `local`, `interleave`, `bind:` with memory nodes such as 0-1,3, or `off`; ARRAY=POLICY for one array";
constexpr std::int64_t max_nodes = 1023;

/// "3" or "0-1".
std::vector<int> parse_nodes(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = read_integer(text.substr(0, dash), 0, max_nodes);
  const auto last = dash == std::string_view::npos ? first : read_integer(text.substr(dash + 1), 0, max_nodes);
  if (!first || !last || *last < *first) throw InputError(fmt::format("`{}` names no memory nodes", text), policy_hint);
  std::vector<int> nodes;
  for (std::int64_t n = *first; n <= *last; ++n) nodes.push_back(static_cast<int>(n));
  return nodes;
}

/// A part of a list of nodes, whose comma is the same as that between policies.
bool is_number(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
}

std::string rule_text(const NumaRule& rule) {
  if (rule.policy == NumaPolicy::bind) return std::string(bind_to) + node_list_text(rule.nodes);
  return std::string(
      std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.second == rule.policy; })->first);
}

}  // namespace

NumaRule parse_numa_rule(std::string_view text) {
  for (const auto& [name, policy] : names)
    if (text == name) return {policy, {}};
  if (!text.starts_with(bind_to))
    throw InputError(fmt::format("there is no policy `{}` for memory nodes", text), policy_hint);
  NumaRule rule{NumaPolicy::bind, {}};
  text.remove_prefix(bind_to.size());
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::vector<int> nodes = parse_nodes(text.substr(begin, end - begin));
    rule.nodes.insert(rule.nodes.end(), nodes.begin(), nodes.end());
    begin = end + 1;
  }
  std::sort(rule.nodes.begin(), rule.nodes.end());
  rule.nodes.erase(std::unique(rule.nodes.begin(), rule.nodes.end()), rule.nodes.end());
  return rule;
}

void add_array_rule(NumaRequest& request, const std::string& array, const NumaRule& rule) {
  if (rule.policy == NumaPolicy::off)
    throw InputError(fmt::format("`off` is no rule for the array `{}` alone", array),
                     "`auto` leaves its blocks with the ranks that make them");
  if (array.empty()) throw InputError("a rule for an array lacks its name", policy_hint);
  for (const auto& [name, known] : request.arrays)
    if (name == lower_case(array)) throw InputError(fmt::format("the array `{}` has two rules", array), "give one");
  request.arrays.emplace_back(lower_case(array), rule);
}

NumaRequest parse_numa(std::string_view text) {
  NumaRequest request;
  bool all = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    while (end < text.size() && is_number(text.substr(end + 1))) end = std::min(text.find(',', end + 1), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos) {
      add_array_rule(request, std::string(part.substr(0, equals)), parse_numa_rule(part.substr(equals + 1)));
    } else {
      const NumaRule rule = parse_numa_rule(part);
      if (std::exchange(all, true))
        throw InputError(fmt::format("`{}` is a second policy for all blocks", part), policy_hint);
      request.all = rule;
    }
    begin = end + 1;
  }
  return request;
}

std::string numa_text(const NumaRequest& request) {
  std::string text = rule_text(request.all);
  for (const auto& [array, rule] : request.arrays) text += fmt::format(",{}={}", array, rule_text(rule));
  return text;
}

}  // namespace sial
