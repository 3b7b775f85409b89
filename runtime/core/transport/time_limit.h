#pragma once
// Ends this process where MPI waits without end for others that are lost, at times at which no watcher runs: until all
// ranks have met, and once they have parted.

#include <string>
#include <thread>

#include "runtime/core/watch/wake_up.h"

namespace sial {

/// While it lives. Counts seconds in which this process ran: not those for which it was stopped.
class TimeLimit {
 public:
  /// 0 seconds: no limit. `what` is said then, as an error, with how to change it, and the process ends
  /// with exit_environment_error. Where this process has no file descriptor left for so long that MPI cannot go on,
  /// that is said, and the process ends, much earlier.
  TimeLimit(double seconds, std::string what, std::string hint);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  WakeUp done_;
  std::thread thread_;
};

}  // namespace sial
