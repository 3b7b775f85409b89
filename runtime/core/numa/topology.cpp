#include "runtime/core/numa/topology.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace sial {

int NumaTopology::index_of(int number) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const NumaNode& n) { return n.number == number; });
  return found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin());
}

int NumaTopology::node_of_cpu(int cpu) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const NumaNode& n) {
    return std::find(n.cpus.begin(), n.cpus.end(), cpu) != n.cpus.end();
  });
  return found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin());
}

int NumaTopology::node_of_cpus(std::span<const int> cpus) const {
  if (cpus.empty()) return -1;
  const int first = node_of_cpu(cpus.front());
  const bool same = std::all_of(cpus.begin(), cpus.end(), [&](int cpu) { return node_of_cpu(cpu) == first; });
  return same ? first : -1;
}

double NumaTopology::distance(int from, int to) const {
  if (!distances.empty()) return distances[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  return from == to ? 1 : unknown_node_distance;
}

NumaTopology usable_nodes() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string nodes;
  if (!std::getline(file, nodes) || nodes != "0") return this_machine();
  NumaTopology machine;
  machine.nodes.push_back(
      {0, static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE), allowed_cpus()});
  return machine;
}

}  // namespace sial
