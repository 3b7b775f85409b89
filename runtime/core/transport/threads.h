#pragma once
// N ranks as real, concurrent threads of one process, with a helper thread per rank when there are several (pretend)
// nodes: what MPI does, where a thread sanitizer can see it.

#include <functional>

#include "runtime/core/transport/in_process.h"
#include "runtime/core/transport/transport.h"

namespace sial {

struct ThreadsOptions {
  int ranks = 1;           // workers
  int ranks_per_node = 0;  // 0: all on one node
  int servers = 0;
};

/// Runs `rank_main` once per rank (servers included). The first exception of any rank ends all others (JobEnding) and
/// is rethrown here; abort_job becomes JobAborted.
void run_threads(const ThreadsOptions& options, const std::function<void(Transport&)>& rank_main);

}  // namespace sial
