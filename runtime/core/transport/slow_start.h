#pragma once
// Tells the user when MPI takes long to connect ranks on several hosts, and what may be the reason: until it has, no
// rank can say anything else.

#include <string>
#include <thread>
#include <vector>

#include "runtime/core/watch/wake_up.h"

namespace sial {

/// "docker0 (172.17.0.1)": networks within this host that often have the same address on all hosts.
std::vector<std::string> bridges_of_host();
/// Whether Open MPI is told which networks lead to other hosts.
bool network_is_named();

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
