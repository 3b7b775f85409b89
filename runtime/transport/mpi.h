#pragma once
// Ranks as MPI processes. Collectives and requests are messages; node memory is POSIX shared memory (shared_memory.h).
// MPI is initialised by make_mpi and finalised when the transport is destroyed after finish(). With one node nobody but
// the rank's own thread calls MPI; with several, a helper thread per rank serves requests (MPI_THREAD_MULTIPLE).

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "runtime/transport/transport.h"

namespace sial {

/// --simulate-network: requests complete no earlier than this model says.
struct NetworkModel {
  double latency = 0;    // seconds, one way
  double bandwidth = 0;  // bytes per second; 0: no limit
};

struct MpiOptions {
  int ranks_per_node = 0;         // split each host into pretend nodes of so many workers; 0: don't
  int servers = 0;                // the last so many ranks do nothing but serve
  bool homes_on_workers = false;  // servers hold no arrays: their memory is there to be lent
  std::optional<NetworkModel> network;
  double lost_after = 0;                             // seconds, as WatchOptions has it; 0: nobody is ever lost
  double start_limit = 0;                            // seconds until all ranks have met; 0: none
  std::size_t message_bytes = std::size_t{1} << 30;  // larger data travels in pieces
};

/// Ranks the launcher started according to its environment variables: 1 without a launcher.
int launched_ranks();

/// Whether this process is the first rank, by what the launcher says in the environment; true without a launcher.
bool is_first_launched();

/// Which MPI this is and what was chosen for it, in lines: for people, before MPI starts.
std::string describe_mpi();

/// Collective. When it fails after MPI has started it ends the job with one message, as abort_job does.
std::unique_ptr<Transport> make_mpi(int* argc, char*** argv, const MpiOptions& options);

}  // namespace sial
