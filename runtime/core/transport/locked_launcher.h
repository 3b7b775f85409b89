#pragma once
// An mpirun that has locked itself out. Open MPI 4.1 does that now and then when a rank is killed while it starts: it
// waits for itself, and would do so for ever.

#include <sys/types.h>

#include <string>

namespace sial {

/// A launcher that works takes note of a child that has ended at once. This one sleeps, and the child stays a zombie.
class LockedLauncher {
 public:
  /// `others_live`: its other children may be alive. Launchers that are not Open MPI's may leave zombies until all of
  /// their children have ended. `looks`: so many in a row must see the same.
  explicit LockedLauncher(bool others_live, int looks = 20) : others_live_(others_live), looks_(looks) {}

  /// To be called about once a second, for a process that is a launcher.
  bool look(pid_t launcher);

 private:
  const bool others_live_;
  const int looks_;
  int found_ = 0;
  pid_t launcher_ = 0, zombie_ = 0;
};

bool is_launcher(const std::string& name);

/// The launcher that `process` is, or that it waits for: scripts between them have one child that is alive. 0: none.
pid_t launcher_below(pid_t process);

/// By SIGKILL; then removes the folder in which it kept what belongs to its job.
void kill_launcher(pid_t launcher);

}  // namespace sial
