#pragma once
// Threads that run the same trials at the same time, on a core each where there are enough. Before each group of trials
// they meet, and begin at an agreed time, a few nanoseconds more or less. Who has to wait for long gives its core away.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace sial::litmus {

using Word = std::uint32_t;

/// What the threads of a trial have read, up to two words each.
struct Seen {
  Word first = 0, second = 0;
};

class Crew {
 public:
  /// Cores that this process may use.
  static int cores();

  /// Runs `body(thread, trial)` on each thread for each trial, numbered from 1; it returns what it has seen. Then
  /// `judge(trial, seen)` for each trial, with what all threads have seen.
  template <class Body, class Judge>
  static void run(int threads, std::uint64_t trials, Body&& body, Judge&& judge);

 private:
  static constexpr int patience_on_own_core = 1000000;  // loads: longer than the other thread is away
  static constexpr std::int64_t notice = 300;           // ns
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  static void pin(int thread);
  static void pause(int& patience);  // uses some of it up
  static void spin(std::uint64_t& random);
  static void start(int threads, const std::function<void(int)>& work);
};

/// Trials between two meetings, each on memory of its own.
inline constexpr Word trials_per_meeting = 16;
/// Trials whose outcomes are judged together: no thread waits for a judge in between.
inline constexpr Word trials_per_batch = 4096;

template <class Body, class Judge>
void Crew::run(int threads, std::uint64_t trials, Body&& body, Judge&& judge) {
  struct alignas(128) Place {
    std::atomic<std::uint64_t> trial{0};
  };
  struct alignas(128) Start {
    std::atomic<std::int64_t> time{0};
    std::atomic<std::uint64_t> trial{0};
  } opening;
  const auto n = static_cast<std::size_t>(threads);
  std::vector<Place> places(n);
  std::vector<std::vector<Seen>> seen(n, std::vector<Seen>(trials_per_batch));
  const int patience = threads > cores() ? 0 : patience_on_own_core;
  const auto wait_for = [&](const std::atomic<std::uint64_t>& there, std::uint64_t trial) {
    for (int left = patience; there.load(std::memory_order_acquire) < trial;) pause(left);
  };
  // The first thread sees that all have come, and tells them when to begin: all hear of it before that.
  const auto meet = [&](std::size_t self, std::uint64_t trial) {
    if (self == 0) {
      for (std::size_t other = 1; other < n; ++other) wait_for(places[other].trial, trial);
      opening.time.store(now() + notice, std::memory_order_relaxed);
      opening.trial.store(trial, std::memory_order_release);
    } else {
      places[self].trial.store(trial, std::memory_order_release);
      wait_for(opening.trial, trial);
    }
    const std::int64_t begin = opening.time.load(std::memory_order_relaxed);
    while (now() < begin) {}
  };
  start(threads, [&](int thread) {
    const auto self = static_cast<std::size_t>(thread);
    std::uint64_t random = 0x9e3779b97f4a7c15 * (self + 1), met = 0;
    std::vector<Seen> all(n);
    for (std::uint64_t done = 0; done < trials;) {
      const Word batch = static_cast<Word>(std::min<std::uint64_t>(trials_per_batch, trials - done));
      for (Word i = 0; i < batch; ++i) {
        if (i % trials_per_meeting == 0) {
          meet(self, ++met);
          spin(random);
        }
        seen[self][i] = body(thread, static_cast<Word>(done + i + 1));
      }
      meet(self, ++met);
      if (thread == 0)
        for (Word i = 0; i < batch; ++i) {
          for (std::size_t t = 0; t < n; ++t) all[t] = seen[t][i];
          judge(static_cast<Word>(done + i + 1), all);
        }
      meet(self, ++met);
      done += batch;
    }
  });
}

}  // namespace sial::litmus
