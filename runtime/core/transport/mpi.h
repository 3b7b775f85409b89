#pragma once
// Ranks as MPI processes. Collectives and requests are messages; node memory is POSIX shared memory (shared_memory.h).
// MPI is initialised by make_mpi and finalised when the transport is destroyed after finish(), but where it was started
// before (make_mpi_of). With one node nobody but the rank's own thread calls MPI; with several, a helper thread per
// rank serves requests (MPI_THREAD_MULTIPLE).

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "runtime/core/transport/transport.h"

namespace sial {

/// --simulate-network: requests complete no earlier than this model says.
struct NetworkModel {
  double latency = 0;    // seconds, one way
  double bandwidth = 0;  // bytes per second; 0: no limit
};

struct MpiOptions {
  int ranks_per_node = 0;         // split each host into pretend nodes of so many workers; 0: don't
  int servers = 0;                // the last so many ranks do nothing but serve
  bool homes_on_workers = false;  // servers hold no arrays: their memory is there to be provided
  std::optional<NetworkModel> network;
  double lost_after = 0;                             // seconds, as WatchOptions has it; 0: nobody is ever lost
  double start_limit = 0;                            // seconds until all ranks have met; 0: none
  std::size_t message_bytes = std::size_t{1} << 30;  // larger data travels in pieces
};

/// Ranks the launcher started according to its environment variables: 1 without a launcher.
int launched_ranks();

/// Whether this process is the first rank, by what the launcher says in the environment; true without a launcher.
bool is_first_launched();

/// The MPI and the choices for it, in lines: for people, before MPI starts.
std::string describe_mpi();

/// Collective. When it fails after MPI has started it ends the job with one message, as abort_job does.
std::unique_ptr<Transport> make_mpi(int* argc, char*** argv, const MpiOptions& options);

/// Collective over the ranks of a communicator (its Fortran handle, as MPI_Comm_c2f gives it) of an MPI that is running
/// and goes on after the transport. Errors end all processes, as with make_mpi. Throws EnvironmentError where MPI does
/// not run, or lets only the thread call it that has started it.
std::unique_ptr<Transport> make_mpi_of(int communicator, const MpiOptions& options);

/// The name of the MPI that is loaded, with its version.
std::string name_of_mpi();

}  // namespace sial
