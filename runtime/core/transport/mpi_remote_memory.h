#pragma once
// Memory of other nodes between MPI processes: two-sided messages on a communicator of their own, which a thread of
// each rank looks after, and whoever waits. That thread never waits for other ranks: each step posts what can be posted
// and takes what has come. Copies are cut to pieces by whoever starts them; here the most urgent leaves first.

#include <memory>

#include "runtime/core/transport/mpi_support.h"
#include "runtime/core/transport/remote_memory.h"

namespace sial {

/// Collective over all ranks.
std::unique_ptr<RemoteMemory> make_mpi_remote_memory(MpiWorld& world, MemoryProvider& provider);

}  // namespace sial
