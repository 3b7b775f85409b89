#pragma once
// The process that started this one: Open MPI's mpirun, or its daemon on this host. When a host is cut off it waits for
// that host's daemon, for many minutes, after its own ranks have ended.

namespace sial {

/// Leaves a process behind that ends the launcher if it is still there after so many seconds, by SIGKILL, and then
/// removes the folder that it had for this job, if that is still there. Does nothing where something else started this
/// process: a batch system looks after lost hosts itself.
void end_launcher_after(int seconds);

}  // namespace sial
