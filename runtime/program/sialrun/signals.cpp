#include "runtime/program/sialrun/signals.h"

#include <unistd.h>

#include <csignal>
#include <ctime>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "runtime/core/transport/mpi.h"
#include "runtime/core/watch/wake_up.h"

namespace sial {
namespace {

std::atomic<int> received{0};
std::atomic<std::int64_t> received_ms{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

constexpr unsigned patience = 10;  // seconds
constexpr std::string_view still_here =
    "note: asked to end 10 s ago, the run has not come to a barrier outside pardos, or is not saved yet\n"
    "  hint: another signal, such as SIGTERM, ends it at once\n";

extern "C" void on_patience_lost(int) {
  const int saved_errno = errno;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, still_here.data(), still_here.size());
  errno = saved_errno;
}

extern "C" void on_stop_signal(int number) {
  const int saved_errno = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
  if (received.load() == 0) {
    received_ms = ms;
    received = number;
    alarm(patience);
  } else if (ms - received_ms >= 1000) {  // launchers deliver one request twice: to the job and to each process
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  errno = saved_errno;
}

std::atomic<bool> asked{false};
std::atomic<WakeUp*> answerer{nullptr};
static_assert(std::atomic<WakeUp*>::is_always_lock_free);

extern "C" void on_status_signal(int) {
  const int saved_errno = errno;
  asked = true;
  if (WakeUp* const wake_up = answerer.load()) wake_up->post();
  errno = saved_errno;
}

}  // namespace

void catch_status_signal(WakeUp* wake_up) {
  answerer = wake_up;
  struct sigaction action{};
  action.sa_handler = on_status_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGQUIT, &action, nullptr);
}

bool take_status_request() { return asked.exchange(false); }

void catch_stop_signals() {
  struct sigaction action{};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) sigaction(number, &action, nullptr);
  if (is_first_launched()) action.sa_handler = on_patience_lost;
  else action.sa_handler = SIG_IGN;
  sigaction(SIGALRM, &action, nullptr);
}

int stop_signal() { return received.load(std::memory_order_relaxed); }

}  // namespace sial
