#include <hwloc.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/numa/topology.h"

namespace sial {

namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Topology make_topology() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) made = nullptr;
  return {made, hwloc_topology_destroy};
}

/// Distances of the system are 10 for a node itself; here they are relative to that.
std::vector<std::vector<double>> distances_of(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& nodes) {
  unsigned n = 1;
  hwloc_distances_s* found = nullptr;
  constexpr unsigned long kind = HWLOC_DISTANCES_KIND_MEANS_LATENCY;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &n, &found, kind, 0) != 0 || n == 0) return {};
  std::vector<std::vector<double>> all(nodes.size(), std::vector<double>(nodes.size(), 0));
  bool complete = true;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      hwloc_uint64_t there = 0, back = 0, own = 0, ignored = 0;
      complete = complete && hwloc_distances_obj_pair_values(found, nodes[i], nodes[j], &there, &back) == 0 &&
                 hwloc_distances_obj_pair_values(found, nodes[i], nodes[i], &own, &ignored) == 0 && own > 0;
      if (complete) all[i][j] = static_cast<double>(there) / static_cast<double>(own);
    }
  hwloc_distances_release(topology, found);
  return complete ? all : std::vector<std::vector<double>>{};
}

/// A node without processors of its own (memory only) has none: hwloc's set of it is that of its neighbours.
std::vector<int> cpus_of(hwloc_obj_t node) {
  std::vector<int> cpus;
  if (!node->cpuset) return cpus;
  for (int cpu = hwloc_bitmap_first(node->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(node->cpuset, cpu))
    cpus.push_back(cpu);
  return cpus;
}

NumaTopology read(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    found.push_back(node);
  NumaTopology result;
  result.is_this_machine = hwloc_topology_is_thissystem(topology) != 0;
  for (const hwloc_obj_t node : found)
    result.nodes.push_back({static_cast<int>(node->os_index),
                            static_cast<std::int64_t>(node->attr->numanode.local_memory), cpus_of(node)});
  result.distances = distances_of(topology, found);
  return result;
}

NumaTopology one_node(const std::string& problem) {
  NumaTopology result;
  result.nodes.push_back({0, 0, allowed_cpus()});
  result.problem = problem;
  return result;
}

}  // namespace

NumaTopology this_machine() {
  const Topology topology = make_topology();
  if (!topology) return one_node("hwloc does not start");
  if (hwloc_topology_load(topology.get()) != 0)
    return one_node(fmt::format("hwloc cannot read this machine: {}", std::strerror(errno)));
  NumaTopology result = read(topology.get());
  if (result.nodes.empty()) return one_node("hwloc finds no memory nodes on this machine");
  return result;
}

NumaTopology described_machine(const std::string& description) {
  constexpr const char* hint =
      "as hwloc describes machines, for example \"numa:2 core:4 pu:1\", or a file of `lstopo FILE.xml`";
  const bool is_file = std::filesystem::path(description).extension() == ".xml";
  if (is_file && !std::filesystem::is_regular_file(description))
    throw InputError(fmt::format("there is no file `{}` with a machine", description), hint);
  const Topology topology = make_topology();
  const int set = !topology ? -1
                  : is_file ? hwloc_topology_set_xml(topology.get(), description.c_str())
                            : hwloc_topology_set_synthetic(topology.get(), description.c_str());
  if (set != 0 || hwloc_topology_load(topology.get()) != 0)
    throw InputError(fmt::format("`{}` describes no machine", description), hint);
  NumaTopology result = read(topology.get());
  if (result.nodes.empty()) throw InputError(fmt::format("`{}` describes a machine without memory", description), hint);
  result.is_this_machine = false;
  return result;
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  std::array<cpu_set_t, 64> sets{};  // 65,536 processors
  if (sched_getaffinity(0, sizeof sets, sets.data()) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < sizeof sets * 8; ++cpu)
    if (CPU_ISSET_S(cpu, sizeof sets, sets.data())) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

}  // namespace sial
