#include "runtime/core/transport/start_guard.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "runtime/core/base/host_name.h"
#include "runtime/core/base/processes.h"
#include "runtime/core/transport/launched.h"
#include "runtime/core/transport/locked_launcher.h"

namespace sial {

namespace {

constexpr int second = 1000;  // milliseconds between looks
constexpr std::array own_name = std::to_array("sial-guard");

void take_name(char* name) {
  prctl(PR_SET_NAME, own_name.data(), 0, 0, 0);
  if (!name) return;
  const std::size_t room = std::strlen(name);
  std::memset(name, 0, room);
  std::memcpy(name, own_name.data(), std::min(room, own_name.size() - 1));
}

/// A rank on this host that is stopped and may have no guard yet; 0: none, or the guard of another rank looks for it.
pid_t stopped_beside(const ProcessLook& own) {
  constexpr int lookers = 2;  // of a host: a look takes time, and one of them may be the one that is stopped
  if (local_rank() >= lookers) return 0;
  pid_t first = 0, stopped = 0;  // that runs
  for (const ProcessLook& rank : children_of(own.parent)) {
    if (rank.name != own.name) continue;
    pid_t& found = rank.state == 'T' ? stopped : first;
    if (found == 0 || rank.process < found) found = rank.process;
  }
  return first == own.process ? stopped : 0;
}

/// Until the rank has gone, or no longer needs a guard: then this process ends. Seconds are those in which it ran.
void look_after_rank(int pipe, pid_t rank, double stopped_for) {
  constexpr double head_start = 2;  // of the guard of the rank that is stopped
  double stopped = 0;
  for (pid_t which = 0;;) {
    pollfd end{pipe, POLLIN, 0};
    if (poll(&end, 1, second) > 0) {
      char met = 0;
      if (read(pipe, &met, 1) == 1) _exit(0);
      return;
    }
    const ProcessLook own = look_at_process(rank);
    const pid_t now = own.state == 'T' ? rank : stopped_beside(own);
    stopped = now == 0 ? 0 : now == which ? stopped + 1 : 1;
    which = now;
    if (now == 0 || stopped < stopped_for + (now == rank ? 0 : head_start)) continue;
    const std::string text = fmt::format(
        "error: {}: a rank has been stopped by a signal for {:.0f} s (process {}), and the ranks have not met: it is killed\n"
        "  hint: kill -CONT lets a process go on; `--lost-after` sets the limit\n",
        printable_host_name(), stopped, now);
    (void)!write(STDERR_FILENO, text.data(), text.size());
    kill(now, SIGKILL);
    stopped = 0;
  }
}

/// The launcher waits until no process holds the streams of a rank.
void close_streams() {
  const int null = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  if (null > STDERR_FILENO) close(null);
}

void look_after_launcher(pid_t launcher) {
  constexpr int longest = 600;  // looks; a daemon may outlive many jobs
  LockedLauncher locked(true);
  for (int look = 0; look < longest && is_launcher(look_at_process(launcher).name); ++look) {
    if (locked.look(launcher)) {
      kill_launcher(launcher);
      return;
    }
    poll(nullptr, 0, second);
  }
}

}  // namespace

StartGuard::StartGuard(double stopped_for, char* name) {
  std::array<int, 2> pipe{};
  if (stopped_for <= 0 || pipe2(pipe.data(), O_CLOEXEC) != 0) return;
  const pid_t rank = getpid(), launcher = getppid();
  guard_ = fork();
  if (guard_ == 0) {
    setsid();  // the launcher kills what belongs to its ranks
    for (const int number : {SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT}) signal(number, SIG_IGN);
    for (const int number : {SIGTERM, SIGINT}) signal(number, SIG_DFL);
    take_name(name);
    close(pipe[1]);
    constexpr int kept = STDERR_FILENO + 1;
    const int end = fcntl(pipe[0], F_DUPFD, kept + 1);
    dup2(end, kept);
    close_range(kept + 1, ~0U, 0);
    look_after_rank(kept, rank, stopped_for);
    close_streams();
    look_after_launcher(launcher);
    _exit(0);
  }
  close(pipe[0]);
  rank_lives_ = pipe[1];
  if (guard_ > 0) return;
  guard_ = 0;  // without a guard, then
  close(rank_lives_);
}

StartGuard::~StartGuard() {
  if (guard_ == 0) return;
  const char met = 1;
  (void)!write(rank_lives_, &met, 1);
  close(rank_lives_);
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace sial
