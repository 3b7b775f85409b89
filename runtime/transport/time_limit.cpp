#include "runtime/transport/time_limit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/base/host_name.h"
#include "runtime/transport/launcher.h"

namespace sial {

namespace {

constexpr double between_looks = 1;  // seconds
constexpr double longest_look = 2;   // seconds; one that took longer was no look of a process that ran

bool passed(WakeUp& done, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  for (double ran = 0; ran < seconds;) {
    if (done.wait(std::min(between_looks, seconds - ran))) return false;
    const auto now = Clock::now();
    ran += std::min(std::chrono::duration<double>(now - last).count(), longest_look);
    last = now;
  }
  return true;
}

}  // namespace

TimeLimit::TimeLimit(double seconds, std::string what) {
  if (seconds <= 0) return;
  thread_ = std::thread([this, seconds, what = std::move(what)] {
    if (!passed(done_, seconds)) return;
    fmt::print(
        stderr,
        "error: {}: {} in {:.0f} s\n  hint: another host is down or cut off from the network, or a rank is stopped; `--lost-after` sets the limit\n",
        printable_host_name(), what, seconds);
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
