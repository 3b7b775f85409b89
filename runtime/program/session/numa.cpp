#include "runtime/program/session/numa.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/core/job/numa.h"

namespace sial {

namespace {

constexpr std::size_t max_nodes = 64, max_text = 120;

/// Of one rank, as it travels.
struct Row {
  std::int64_t node, in_large_pages;
  std::array<std::int64_t, max_nodes> pages;
  std::array<char, max_text> rule, problem;
};

void set_text(std::array<char, max_text>& to, const std::string& text) {
  std::strncpy(to.data(), text.c_str(), to.size() - 1);
}

}  // namespace

NumaFacts numa_facts(RankTools& tools, const Job& job) {
  NumaFacts facts;
  const StoreOptions& options = tools.options.store;
  if (!options.machine) return facts;
  const NumaReport report = tools.store->monitor().numa();
  Row mine{};
  mine.node = report.node;
  mine.in_large_pages = report.in_large_pages;
  for (std::size_t n = 0; n < std::min(max_nodes, report.pages.by_node.size()); ++n)
    mine.pages[n] = report.pages.by_node[n];
  set_text(mine.rule, page_rule_text(report.rule));
  set_text(mine.problem, report.problem.empty() ? report.pages.problem : report.problem);
  const auto rows = tools.transport.all_gather(std::as_bytes(std::span(&mine, 1)), tools.tag(CollectiveKind::other));
  facts.policy = numa_text(job.numa);
  for (const NumaNode& node : options.machine->nodes)
    facts.nodes.push_back({node.number, node.bytes, static_cast<std::int64_t>(node.cpus.size())});
  for (const std::vector<std::byte>& bytes : rows) {
    Row row;
    std::memcpy(&row, bytes.data(), sizeof row);
    NumaFacts::Rank rank{
        static_cast<int>(row.node), row.rule.data(), {row.pages.begin(), row.pages.end()}, row.in_large_pages};
    while (!rank.pages.empty() && rank.pages.back() == 0) rank.pages.pop_back();
    facts.ranks.push_back(std::move(rank));
    const std::string problem = row.problem.data();
    if (!problem.empty() && std::find(facts.problems.begin(), facts.problems.end(), problem) == facts.problems.end())
      facts.problems.push_back(problem);
  }
  return facts;
}

}  // namespace sial
