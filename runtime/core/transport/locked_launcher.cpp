#include "runtime/core/transport/locked_launcher.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/host_name.h"
#include "runtime/core/base/processes.h"

namespace sial {

namespace fs = std::filesystem;

bool is_launcher(const std::string& name) {
  constexpr std::array<std::string_view, 6> known{"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"};
  return std::find(known.begin(), known.end(), name) != known.end();
}

bool LockedLauncher::look(pid_t launcher) {
  const ProcessLook itself = look_at_process(launcher);
  pid_t zombie = 0;
  bool others = false;
  // One that is stopped, or waits for a core or a disk, will go on.
  if (is_launcher(itself.name) && itself.state == 'S')
    for (const ProcessLook& child : children_of(launcher)) {
      if (child.state != 'Z') others = true;
      else if (zombie == 0 || child.process == zombie_) zombie = child.process;
    }
  if (zombie == 0 || (others && !others_live_)) {
    found_ = 0;
    return false;
  }
  found_ = launcher == launcher_ && zombie == zombie_ ? found_ + 1 : 1;
  launcher_ = launcher;
  zombie_ = zombie;
  return found_ >= looks_;
}

pid_t launcher_below(pid_t process) {
  while (process != 0 && !is_launcher(look_at_process(process).name)) {
    pid_t next = 0;
    for (const ProcessLook& child : children_of(process)) {
      if (child.state == 'Z') continue;
      if (next != 0) return 0;
      next = child.process;
    }
    process = next;
  }
  return process;
}

void kill_launcher(pid_t launcher) {
  kill(launcher, SIGKILL);
  // The names that Open MPI 4.1 uses.
  const HostName host = host_name();
  const std::string_view whole = host.data();
  std::error_code error;
  for (const char* name : {"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TMP", "TEMP", ""}) {
    const char* base = *name != '\0' ? std::getenv(name) : "/tmp";
    if (!base) continue;
    const fs::path of_host = fs::path(base) / fmt::format("ompi.{}.{}", whole.substr(0, whole.find('.')), getuid());
    fs::remove_all(of_host / fmt::format("pid.{}", launcher), error);
    fs::remove(of_host, error);  // where it is empty
  }
}

}  // namespace sial
