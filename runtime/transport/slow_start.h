#pragma once
// Tells the user when MPI takes long to connect ranks on several hosts, and what may be the reason: until it has, no
// rank can say anything else.

#include <thread>

#include "runtime/watch/wake_up.h"

namespace sial {

/// While it lives. `speaks`: on the one rank that is to say it.
class SlowStart {
 public:
  explicit SlowStart(bool speaks);
  ~SlowStart();
  SlowStart(const SlowStart&) = delete;
  SlowStart& operator=(const SlowStart&) = delete;

 private:
  WakeUp done_;
  std::thread thread_;
};

}  // namespace sial
