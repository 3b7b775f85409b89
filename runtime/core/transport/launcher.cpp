#include "runtime/core/transport/launcher.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <string>

#include <fmt/format.h>

#include "runtime/core/base/processes.h"
#include "runtime/core/transport/locked_launcher.h"

namespace sial {

void end_launcher_after(int seconds) {
  const pid_t launcher = getppid();
  const std::string name = look_at_process(launcher).name;
  if (!is_launcher(name)) return;
  // Open MPI 4.1's mpirun crashes at SIGTERM when it is ending a job already. What it leaves then, and a daemon that
  // has lost it, is the folder of this job.
  std::string script = fmt::format(
      "i=0; while [ $i -lt {0} ] && [ -e /proc/{1} ]; do sleep 1; i=$((i + 1)); done\n"
      "n=; read n < /proc/{1}/comm\n"
      "[ \"$n\" = {2} ] && kill -KILL {1} && sleep 1\n"
      "folder=$OMPI_MCA_orte_jobfam_session_dir\n"
      "case $folder in */ompi.*/pid.[0-9]*) rm -rf -- \"$folder\"; rmdir \"${{folder%/*}}\";; esac\n",
      seconds, launcher, name);
  std::string shell = "sh", command = "-c";
  std::array<char*, 4> arguments{shell.data(), command.data(), script.data(), nullptr};
  // A session of its own: the launcher kills what belongs to its ranks. No streams: it waits until these are closed.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  pid_t child = 0;
  posix_spawnp(&child, shell.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

}  // namespace sial
