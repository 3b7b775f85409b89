#include "tests/bench/numa/machine.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "tests/bench/numa/lines.h"

namespace sial::bench {

namespace {

constexpr std::size_t largest_array = std::size_t{1} << 30;
constexpr double tolerated_share = 0.05;  // of an interleaved array's pages, on a node more or less than on others

std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// "48K", "2048K"
std::size_t kilobytes(const std::string& text) {
  return text.empty() || text.back() != 'K' ? 0 : std::stoul(text) << 10;
}

std::size_t allowed_of(const std::vector<int>& allowed, const NumaNode& node) {
  return static_cast<std::size_t>(std::count_if(node.cpus.begin(), node.cpus.end(), [&](int cpu) {
    return std::find(allowed.begin(), allowed.end(), cpu) != allowed.end();
  }));
}

bool pin_to(int cpu) {
  std::array<cpu_set_t, 64> sets{};
  CPU_SET_S(static_cast<std::size_t>(cpu), sizeof sets, sets.data());
  return sched_setaffinity(0, sizeof sets, sets.data()) == 0;
}

}  // namespace

CacheSizes cache_sizes(int cpu) {
  CacheSizes sizes;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
    const std::string level = first_word(folder + "level"), type = first_word(folder + "type");
    if (level.empty()) return sizes;
    const std::size_t size = kilobytes(first_word(folder + "size"));
    if (type == "Instruction" || size == 0) continue;
    if (level == "1") sizes.first = size;
    sizes.last = std::max(sizes.last, size);
  }
}

Observer pin_thread(const NumaTopology& machine) {
  const std::vector<int> allowed = allowed_cpus();
  Observer observer{sched_getcpu(), 0};
  if (machine.is_this_machine) {
    const int here = machine.node_of_cpu(observer.cpu);
    const auto near = std::find_if(machine.nodes.begin(), machine.nodes.end(),
                                   [&](const NumaNode& node) { return allowed_of(allowed, node) > 0; });
    if (here >= 0) observer.node = here;
    else if (near != machine.nodes.end()) observer.node = static_cast<int>(near - machine.nodes.begin());
    // The last one: the system's own work is rather on the first.
    for (const int cpu : machine.nodes[static_cast<std::size_t>(observer.node)].cpus)
      if (std::find(allowed.begin(), allowed.end(), cpu) != allowed.end()) observer.cpu = cpu;
  }
  if (observer.cpu >= 0 && !pin_to(observer.cpu)) observer.cpu = -1;
  return observer;
}

std::vector<Placement> placements(const NumaTopology& machine, int local) {
  std::vector<int> numbers;
  int farthest = local;
  double all = 0;
  for (int node = 0; node < machine.size(); ++node) {
    numbers.push_back(machine.nodes[static_cast<std::size_t>(node)].number);
    all += machine.distance(local, node);
    const bool farther = farthest == local || machine.distance(local, node) > machine.distance(local, farthest);
    if (node != local && farther) farthest = node;
  }
  const auto bind = [&](int node) { return PageRule{PageRule::Kind::bind, {numbers[static_cast<std::size_t>(node)]}}; };
  std::vector<Placement> result{{"local", bind(local), 1}};
  if (farthest == local) return result;
  result.push_back({"interleaved", {PageRule::Kind::interleave, numbers}, all / machine.size()});
  result.push_back({"remote", bind(farthest), machine.distance(local, farthest)});
  return result;
}

std::size_t array_bytes(const NumaTopology& machine, const CacheSizes& caches) {
  std::size_t bytes = largest_array;
  if (caches.last > 0) bytes = std::min(bytes, 4 * caches.last);
  for (const NumaNode& node : machine.nodes)
    if (node.bytes > 0) bytes = std::min(bytes, static_cast<std::size_t>(node.bytes) / 8);
  return std::max<std::size_t>(bytes / page_bytes, 1) * page_bytes;
}

std::string wrong_pages(const PagesFound& found, const PageRule& rule, std::size_t pages) {
  if (!found.problem.empty()) return fmt::format("where its pages lie is not known: {}", found.problem);
  if (found.looked_at != static_cast<std::int64_t>(pages))
    return fmt::format("{} of its {} pages are there", found.looked_at, pages);
  std::string differing;
  const double expected = static_cast<double>(pages) / static_cast<double>(rule.nodes.size());
  const double tolerated =
      rule.kind == PageRule::Kind::interleave ? std::max(1.0, tolerated_share * static_cast<double>(pages)) : 0;
  const auto highest = static_cast<std::size_t>(*std::max_element(rule.nodes.begin(), rule.nodes.end()));
  for (std::size_t node = 0; node < std::max(found.by_node.size(), highest + 1); ++node) {
    const std::int64_t there = node < found.by_node.size() ? found.by_node[node] : 0;
    const bool asked = std::find(rule.nodes.begin(), rule.nodes.end(), static_cast<int>(node)) != rule.nodes.end();
    if (asked ? std::abs(static_cast<double>(there) - expected) > tolerated : there > 0)
      differing += fmt::format("{}{} on node {}", differing.empty() ? "" : ", ", there, node);
  }
  if (differing.empty()) return {};
  return fmt::format("its pages do not lie {}: of {} pages there are {}", page_rule_text(rule), pages, differing);
}

}  // namespace sial::bench
