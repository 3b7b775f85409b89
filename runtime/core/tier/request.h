#pragma once
// The request of a job: where blocks may go that do not fit into memory. A value of the job's options.

#include <cstdint>
#include <string>
#include <vector>

namespace sial {

enum class TierKind : std::uint8_t { disk, nodes };

struct TierRequest {
  TierKind kind = TierKind::disk;
  std::string directory;    // disk
  std::uint64_t bytes = 0;  // at most, on each node; 0: all that is free
};

/// In the order in which they are used; several disks are used in turn.
using SpillRequest = std::vector<TierRequest>;

}  // namespace sial
