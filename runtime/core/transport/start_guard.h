#pragma once
// Looks after a rank until all ranks have met in MPI: a small process beside it. A rank that is stopped by a signal
// cannot say so itself, and until then no other rank knows of it; one that is stopped before it has a guard is found by
// that of the host's first rank. And of ranks that have been killed nobody may be left to end a launcher that has
// locked itself out.

#include <sys/types.h>

namespace sial {

class StartGuard {
 public:
  /// To be made before MPI starts. `stopped_for`: seconds after which a rank that is stopped is killed, upon which its
  /// launcher ends the job; 0: no process is made. `name`: what /proc shows as its command; it is overwritten in place
  /// (the guard's copy), and may be null.
  StartGuard(double stopped_for, char* name);
  /// The ranks have met. The guard ends too when this process does.
  ~StartGuard();
  StartGuard(const StartGuard&) = delete;
  StartGuard& operator=(const StartGuard&) = delete;

 private:
  pid_t guard_ = 0;
  int rank_lives_ = -1;  // the end of a pipe that closes with this process
};

}  // namespace sial
