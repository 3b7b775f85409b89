#pragma once
// The options by which sialrun looks after a job.

#include "runtime/core/watch/watch_options.h"
#include "runtime/program/sialrun/arguments.h"

namespace sial {

/// SIGQUIT asks what the ranks do from here on. SialError: a time is none.
WatchOptions watch_options(const Arguments& arguments);

/// Seconds in which the ranks have to meet in MPI; 0: without end. SialError likewise.
double start_limit(const Arguments& arguments);

}  // namespace sial
