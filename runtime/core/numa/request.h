#pragma once
// On which memory nodes blocks lie, as users ask for it with `--numa`. Values.

#include <string>
#include <utility>
#include <vector>

namespace sial {

enum class NumaPolicy {
  automatic,  // near the rank that takes the memory, where it is known where that runs; what all ranks use: interleaved
  local,      // near that rank; of one that may run anywhere: where it began
  interleave,  // spread evenly
  bind,        // on the nodes that are named, and on no others
  off          // whatever the system does: near the processor that touches a page first
};

struct NumaRule {
  NumaPolicy policy = NumaPolicy::automatic;
  std::vector<int> nodes;  // bind: by the system's numbers
  bool operator==(const NumaRule&) const = default;
};

struct NumaRequest {
  NumaRule all;
  std::vector<std::pair<std::string, NumaRule>> arrays;  // remote arrays by name
  bool operator==(const NumaRequest&) const = default;
};

}  // namespace sial
