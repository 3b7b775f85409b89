#pragma once
// What the measurement needs to know of the machine: its caches, the processor that measures, and the three places
// where pages are put.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/numa/page_calls.h"
#include "runtime/core/numa/topology.h"

namespace sial::bench {

struct CacheSizes {
  std::size_t first = 32 << 10;  // bytes; of data
  std::size_t last = 0;          // 0: the system does not say
};
/// Of a processor, as the system has them.
CacheSizes cache_sizes(int cpu);

/// The processor that measures and the place of its node in NumaTopology::nodes.
struct Observer {
  int cpu = -1;  // -1: no one processor
  int node = 0;
};
/// Ties the calling thread to a processor that it may use, near a memory node where there is such a one.
Observer pin_thread(const NumaTopology& machine);

struct Placement {
  std::string_view name;
  PageRule rule;
  double distance = 1;  // of its nodes from the observer's, the mean
};
/// Local, interleaved over all nodes, on the farthest node; only the first where there is one node.
std::vector<Placement> placements(const NumaTopology& machine, int local);

/// Of an array: larger than the last cache, and small beside the memory of the nodes that it lies on. Whole pages.
std::size_t array_bytes(const NumaTopology& machine, const CacheSizes& caches);

/// Empty, or how the pages found differ from what was asked.
std::string wrong_pages(const PagesFound& found, const PageRule& rule, std::size_t pages);

}  // namespace sial::bench
