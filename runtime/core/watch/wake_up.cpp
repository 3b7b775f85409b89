#include "runtime/core/watch/wake_up.h"

#include <cmath>
#include <ctime>

namespace sial {

WakeUp::WakeUp() { sem_init(&semaphore_, 0, 0); }
WakeUp::~WakeUp() { sem_destroy(&semaphore_); }

bool WakeUp::wait(double seconds) noexcept {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const double whole = std::floor(seconds);
  until.tv_sec += static_cast<time_t>(whole);
  until.tv_nsec += static_cast<long>(1e9 * (seconds - whole));
  if (until.tv_nsec >= 1'000'000'000) {
    until.tv_nsec -= 1'000'000'000;
    ++until.tv_sec;
  }
  return sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until) == 0;
}

}  // namespace sial
