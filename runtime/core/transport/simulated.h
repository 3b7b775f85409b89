#pragma once
// The simulator: N ranks in one process, exactly one running at a time, switching only at seam calls. Who runs next is
// the one whose virtual clock is least; every seam call costs a seeded random time, so a seed is a schedule and the
// same seed is the same run. Messages take latency + bytes / bandwidth, each rank's requests are served, and the
// replies sent, one after another by a helper of its own, demand first; compute time is what charge_compute says. Ranks
// that wait for each other for ever are reported, not waited for.

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/core/transport/in_process.h"
#include "runtime/core/transport/transport.h"

namespace sial {

struct SimulationOptions {
  int ranks = 1;           // workers
  int ranks_per_node = 0;  // 0: all on one node
  int servers = 0;
  bool homes_on_workers = false;  // servers hold no arrays: their memory is there to be provided
  std::uint64_t seed = 1;
  double latency = 2e-6;          // seconds, between nodes
  double bandwidth = 7e9;         // bytes per second, between nodes
  double service_seconds = 1e-6;  // cost of serving one request
  double call_seconds = 2e-7;     // mean cost of a seam call
  bool disorder = true;           // a seam call sometimes takes up to 1000 times as long, so that seeds differ in kind
  bool moves_data = true;         // false: blocks have no values, and what is sent of them takes its time only
  int iterations = 0;             // of a loop that data end, where they have no values; 0: the usual number
  std::size_t commit_limit = std::numeric_limits<std::size_t>::max();  // bytes of node memory per node
};

struct SimulationResult {
  double seconds = 0;                // virtual time at which the last worker finished
  std::vector<double> rank_seconds;  // per worker
  std::int64_t switches = 0, requests = 0, bytes = 0;
};

/// Runs `rank_main` once per rank (servers included). The first exception of any rank ends all others (JobEnding) and
/// is rethrown here; abort_job becomes JobAborted; a deadlock becomes a SialError that names what every rank waits for.
SimulationResult run_simulated(const SimulationOptions& options, const std::function<void(Transport&)>& rank_main);

}  // namespace sial
