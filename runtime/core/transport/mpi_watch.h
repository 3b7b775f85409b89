#pragma once
// Looks after a job whose ranks are MPI processes: a watcher per rank, whose messages between hosts are MPI's.

#include <memory>

#include "runtime/core/transport/mpi_support.h"
#include "runtime/core/watch/activity.h"
#include "runtime/core/watch/watch_options.h"

namespace sial {

/// Looks after it until it is dropped, which is before MPI ends.
std::shared_ptr<void> make_mpi_watch(MpiWorld& world, RankActivity& activity, bool serves, const WatchOptions& options);

}  // namespace sial
