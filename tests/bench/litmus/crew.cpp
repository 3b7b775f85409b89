#include "tests/bench/litmus/crew.h"

#include <sched.h>

#include <thread>

namespace sial::litmus {

namespace {

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

}  // namespace

int Crew::cores() {
  const cpu_set_t set = allowed();
  return CPU_COUNT(&set);
}

/// To the core whose turn it is, of those allowed.
void Crew::pin(int thread) {
  const cpu_set_t set = allowed();
  int turn = thread % CPU_COUNT(&set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set) || turn-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);  // without it the threads only meet more rarely
    return;
  }
}

void Crew::pause(int& patience) {
  if (--patience < 0) std::this_thread::yield();
}

/// For a moment, so that the threads' steps meet in all ways.
void Crew::spin(std::uint64_t& random) {
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  for (std::uint64_t n = random >> 59; n > 0; --n) std::atomic_signal_fence(std::memory_order_seq_cst);
}

void Crew::start(int threads, const std::function<void(int)>& work) {
  std::vector<std::thread> crew;
  for (int t = 0; t < threads; ++t)
    crew.emplace_back([t, &work] {
      pin(t);
      work(t);
    });
  for (std::thread& t : crew) t.join();
}

}  // namespace sial::litmus
