#pragma once
// Processes of this host, as /proc shows them.

#include <sys/types.h>

#include <string>
#include <vector>

namespace sial {

struct ProcessLook {
  pid_t process = 0, parent = 0;
  char state = 0;  // R, S, D, T, Z, ...; 0: it has gone
  std::string name;
};

ProcessLook look_at_process(pid_t process);

/// Zombies too.
std::vector<ProcessLook> children_of(pid_t process);

}  // namespace sial
