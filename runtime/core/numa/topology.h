#pragma once
// The memory nodes (NUMA nodes) of a machine that this process may use: how much memory each has, which processors are
// near it, and how far they are from each other. A value, made by hwloc from the machine itself or from a description
// of another one, so that decisions can be tried on machines that are not there.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sial {

struct NumaNode {
  int number = 0;          // the system's
  std::int64_t bytes = 0;  // of memory; 0: not known
  std::vector<int> cpus;   // the system's numbers of the processors near it that may be used; may be empty
};

inline constexpr double unknown_node_distance = 2;  // from one node to another, where the machine does not say

struct NumaTopology {
  std::vector<NumaNode> nodes;                 // by number; those whose memory may be used
  std::vector<std::vector<double>> distances;  // [from][to], of a node to itself 1; empty: the machine does not say
  bool is_this_machine = true;
  std::string problem;  // why nothing is known of this machine; empty: something is

  /// Place in `nodes` of the node with that number; -1: none.
  int index_of(int number) const;
  /// ... of the node near the processor; -1: none.
  int node_of_cpu(int cpu) const;
  /// ... of the one node near all of them; -1: there are several, or none.
  int node_of_cpus(std::span<const int> cpus) const;
  /// From one node to another; 1 for itself.
  double distance(int from, int to) const;
  int size() const { return static_cast<int>(nodes.size()); }
};

/// This machine, as far as this process may use it. Never throws: where nothing is found there is one node, and
/// `problem` says why.
NumaTopology this_machine();

/// The same in less time where the system says that there is one node: without hwloc.
NumaTopology usable_nodes();

/// A machine as hwloc's synthetic descriptions have it ("numa:2 core:4 pu:1", "[numa(memory=1GB)] ..."), or a file of
/// lstopo with a name that ends in .xml. Throws InputError.
NumaTopology described_machine(const std::string& description);

/// The processors that the calling thread may run on; empty: the system does not say.
std::vector<int> allowed_cpus();

}  // namespace sial
