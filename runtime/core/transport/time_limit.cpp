#include "runtime/core/transport/time_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/host_name.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/transport/launcher.h"

namespace sial {

namespace {

constexpr double between_looks = 1;  // seconds
constexpr double longest_look = 2;   // seconds; one that took longer was no look of a process that ran

constexpr int max_without = 3;  // looks in a row

/// MPI waits for ever for a connection that it has no descriptor for.
bool descriptors_left() {
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file >= 0) close(file);
  return file >= 0 || errno != EMFILE;
}

enum class Passed { no, yes, no_descriptors };

Passed passed(WakeUp& done, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  int without = 0;
  for (double ran = 0; ran < seconds;) {
    if (done.wait(std::min(between_looks, seconds - ran))) return Passed::no;
    without = descriptors_left() ? 0 : without + 1;
    if (without == max_without) return Passed::no_descriptors;
    const auto now = Clock::now();
    ran += std::min(std::chrono::duration<double>(now - last).count(), longest_look);
    last = now;
  }
  return Passed::yes;
}

}  // namespace

TimeLimit::TimeLimit(double seconds, std::string what, std::string hint) {
  if (seconds <= 0) return;
  thread_ = start_thread("the limit of a wait for other ranks", [this, seconds, what = std::move(what),
                                                                 hint = std::move(hint)] {
    const Passed end = passed(done_, seconds);
    if (end == Passed::no) return;
    if (end == Passed::no_descriptors) {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      fmt::print(stderr,
                 "error: {}: {}, and this process has too many open files (limit {})\n  hint: raise `ulimit -n`\n",
                 printable_host_name(), what, limit.rlim_cur);
    } else {
      fmt::print(
          stderr,
          "error: {}: {} in {:.0f} s\n  hint: another host is down or cut off from the network, or a rank is stopped; {}\n",
          printable_host_name(), what, seconds, hint);
    }
    std::fflush(stderr);
    constexpr int usual = 4;  // seconds in which a launcher ends that reaches all hosts
    end_launcher_after(usual);
    std::_Exit(exit_environment_error);
  });
}

TimeLimit::~TimeLimit() {
  done_.post();
  if (thread_.joinable()) thread_.join();
}

}  // namespace sial
