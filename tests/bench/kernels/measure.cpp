#include "tests/bench/kernels/measure.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace bench {

double Clock::now() const {
  timespec t{};
  clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void measure(std::vector<Contender>& contenders, const Clock& clock, const Effort& effort) {
  // Calls shorter than this are timed in batches: reading the clock takes a fraction of a microsecond.
  constexpr double shortest = 50e-6, longest_warm_up = 0.05;
  std::vector<long> batch;
  double round = 0.0;
  for (Contender& c : contenders) {
    const auto timed = [&](long calls) {
      const double start = clock.now();
      for (long i = 0; i < calls; ++i) c.run();
      return (clock.now() - start) / static_cast<double>(calls);
    };
    // The first call pays for what is made once and only counts where it is long: another warm-up would cost more than
    // it tells.
    double once = timed(1);
    if (once < longest_warm_up) once = timed(std::max(1L, std::lround(shortest / std::max(once, 1e-7))));
    else c.seconds = std::min(c.seconds, once);
    batch.push_back(std::max(1L, std::lround(std::ceil(shortest / std::max(once, 1e-8)))));
    round += once * static_cast<double>(batch.back());
  }
  const double wanted = effort.seconds * static_cast<double>(contenders.size());
  const int rounds = std::clamp(static_cast<int>(wanted / std::max(round, 1e-9)), effort.rounds, 2000);
  for (int r = 0; r < rounds; ++r)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const double start = clock.now();
      for (long call = 0; call < batch[i]; ++call) contenders[i].run();
      const double taken = clock.now() - start;
      // Clocks of virtual processors stand still at times.
      if (taken > 0.0) contenders[i].seconds = std::min(contenders[i].seconds, taken / static_cast<double>(batch[i]));
    }
}

}  // namespace bench
