#include "runtime/core/numa/placement.h"

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "runtime/core/base/error.h"

namespace sial {

namespace {

std::vector<int> all_numbers(const NumaTopology& machine) {
  std::vector<int> numbers;
  for (const NumaNode& node : machine.nodes) numbers.push_back(node.number);
  return numbers;
}

int number_of(const NumaTopology& machine, int place) { return machine.nodes[static_cast<std::size_t>(place)].number; }

/// The nodes that ranks run near; all where that is not known of any.
std::vector<int> numbers_near_ranks(const NumaTopology& machine, std::span<const int> node_of_arena) {
  std::vector<int> numbers;
  for (const int node : node_of_arena)
    if (node >= 0) numbers.push_back(number_of(machine, node));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers.empty() ? all_numbers(machine) : numbers;
}

PageRule spread(const std::vector<int>& numbers) {
  return {numbers.size() == 1 ? PageRule::Kind::prefer : PageRule::Kind::interleave, numbers};
}

PageRule near(const NumaTopology& machine, int node) {
  return node < 0 ? PageRule{} : PageRule{PageRule::Kind::prefer, {number_of(machine, node)}};
}

/// The arenas whose node fits, in their order.
template <class Fits>
std::vector<int> arenas_on(std::span<const int> node_of_arena, const Fits& fits) {
  std::vector<int> arenas;
  for (std::size_t a = 0; a < node_of_arena.size(); ++a)
    if (node_of_arena[a] >= 0 && fits(node_of_arena[a])) arenas.push_back(static_cast<int>(a));
  return arenas;
}

}  // namespace

RankOnNode find_rank(const NumaTopology& machine) {
  return {machine.node_of_cpus(allowed_cpus()), machine.node_of_cpu(sched_getcpu())};
}

RankOnNode spread_rank(const NumaTopology& machine, int rank, int ranks) {
  const int node = static_cast<int>(static_cast<std::int64_t>(rank) * machine.size() / ranks);
  return {node, node};
}

void check_rule(const NumaTopology& machine, const NumaRule& rule, const std::string& of) {
  for (const int node : rule.nodes)
    if (machine.index_of(node) < 0)
      throw InputError(
          fmt::format("{}: this job has no memory node {}", of, node),
          fmt::format("it has {}; `sialrun --version --verbose` lists them", node_list_text(all_numbers(machine))));
}

NumaPlacement place(const NumaTopology& machine, const NumaRule& rule, std::span<const RankOnNode> ranks) {
  check_rule(machine, rule, "--numa");
  NumaPlacement result;
  for (const RankOnNode& rank : ranks)
    result.node_of_arena.push_back(machine.size() == 1                ? 0
                                   : rank.near >= 0                   ? rank.near
                                   : rule.policy == NumaPolicy::local ? rank.start
                                                                      : -1);
  result.arenas.assign(ranks.size(), PageRule{});
  switch (rule.policy) {
    case NumaPolicy::off: break;
    case NumaPolicy::automatic:
    case NumaPolicy::local:
      if (machine.size() == 1) break;  // nothing to choose
      std::transform(result.node_of_arena.begin(), result.node_of_arena.end(), result.arenas.begin(),
                     [&](int node) { return near(machine, node); });
      result.shared = spread(numbers_near_ranks(machine, result.node_of_arena));
      break;
    case NumaPolicy::interleave:
      result.shared = spread(all_numbers(machine));
      result.arenas.assign(ranks.size(), result.shared);
      break;
    case NumaPolicy::bind:
      result.shared = {PageRule::Kind::bind, rule.nodes};
      result.arenas.assign(ranks.size(), result.shared);
      break;
  }
  // Whose arena is spread over nodes, or lies on others than its rank runs near, is on no one node.
  for (std::size_t a = 0; a < ranks.size() && machine.size() > 1; ++a)
    if (result.arenas[a].kind == PageRule::Kind::interleave || result.arenas[a].kind == PageRule::Kind::bind)
      result.node_of_arena[a] = result.arenas[a].nodes.size() == 1 ? machine.index_of(result.arenas[a].nodes[0]) : -1;
  return result;
}

NodeUse node_use(double share, double mean) {
  if (share < 0.1) return NodeUse::ideal;
  if (share < 0.7 * mean) return NodeUse::light;
  return share > 1.3 * mean ? NodeUse::heavy : NodeUse::normal;
}

std::vector<int> fallback_order(const NumaTopology& machine, std::span<const int> node_of_arena, int own,
                                std::span<const double> used) {
  const std::size_t arenas = node_of_arena.size();
  const auto nodes = static_cast<std::size_t>(machine.size());
  std::vector<double> of_node(nodes, 0), arenas_of_node(nodes, 0);
  double all = 0;
  for (std::size_t a = 0; a < arenas; ++a) {
    all += used[a];
    if (node_of_arena[a] < 0) continue;
    of_node[static_cast<std::size_t>(node_of_arena[a])] += used[a];
    arenas_of_node[static_cast<std::size_t>(node_of_arena[a])] += 1;
  }
  const double mean = all / static_cast<double>(arenas);
  const auto rank_of_use = [](NodeUse use) {
    switch (use) {
      case NodeUse::light: return 1;
      case NodeUse::ideal: return 2;
      case NodeUse::normal: return 3;
      case NodeUse::heavy: return 4;
    }
    return 4;
  };
  const int here = node_of_arena[static_cast<std::size_t>(own)];
  // Smaller is better; what is equal is asked in a ring, so that not all ranks come to the same arena.
  const auto grade = [&](int a) {
    const int node = node_of_arena[static_cast<std::size_t>(a)];
    const int turn = (a - own + static_cast<int>(arenas)) % static_cast<int>(arenas);
    if (a == own) return std::tuple(-1, 0.0, 0);
    if (here < 0 || node < 0) return std::tuple(3, unknown_node_distance, turn);
    if (node == here) return std::tuple(0, 1.0, turn);
    const auto n = static_cast<std::size_t>(node);
    return std::tuple(rank_of_use(node_use(of_node[n] / arenas_of_node[n], mean)), machine.distance(here, node), turn);
  };
  std::vector<int> order(arenas);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return grade(a) < grade(b); });
  return order;
}

int arena_of_block(const NumaTopology& machine, std::span<const int> node_of_arena, const NumaRule& rule, int own,
                   std::uint64_t number) {
  if (rule.policy != NumaPolicy::interleave && rule.policy != NumaPolicy::bind) return own;
  const std::vector<int> fitting = arenas_on(node_of_arena, [&](int node) {
    return rule.policy == NumaPolicy::interleave ||
           std::find(rule.nodes.begin(), rule.nodes.end(), number_of(machine, node)) != rule.nodes.end();
  });
  std::vector<int> nodes;  // with such arenas
  for (const int a : fitting) nodes.push_back(node_of_arena[static_cast<std::size_t>(a)]);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (nodes.empty()) return own;
  const int node = nodes[number % nodes.size()];
  if (node == node_of_arena[static_cast<std::size_t>(own)]) return own;
  const std::vector<int> there = arenas_on(node_of_arena, [&](int n) { return n == node; });
  return there[number / nodes.size() % there.size()];
}

}  // namespace sial
