#include "tests/bench/litmus/shapes.h"

#include <array>
#include <atomic>
#include <thread>

#include "runtime/core/memory/spin_lock.h"
#include "tests/bench/litmus/crew.h"

namespace sial::litmus {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

/// Two words, far from each other, for each trial between two meetings. A trial stores its number: who reads less has
/// read a value from before it.
struct alignas(128) Far {
  std::atomic<Word> word{0};
};
struct Words {
  Far x, y;
};
class Memory {
 public:
  Words& operator[](Word trial) { return words_[trial % trials_per_meeting]; }

 private:
  std::array<Words, trials_per_meeting> words_;
};

/// Of a thread that waits for a lock whose holder may not be running.
struct Pause {
  int left = 1000000;
  void operator()() {
    if (--left < 0) std::this_thread::yield();
  }
};

template <class Body, class Match>
std::uint64_t count(int threads, std::uint64_t trials, const Body& body, const Match& match) {
  std::uint64_t found = 0;
  Crew::run(threads, trials, body,
            [&](Word trial, const std::vector<Seen>& seen) { found += match(trial, seen) ? 1 : 0; });
  return found;
}

/// Each thread stores to its word, then loads the other's: neither sees the other's store.
/// The orders are constants: compilers take one that is not for seq_cst.
template <std::memory_order store, std::memory_order load, class Between>
std::uint64_t store_buffering(std::uint64_t trials, const Between& between) {
  Memory m;
  return count(
      2, trials,
      [&](int thread, Word trial) {
        std::atomic<Word>& mine = thread == 0 ? m[trial].x.word : m[trial].y.word;
        std::atomic<Word>& other = thread == 0 ? m[trial].y.word : m[trial].x.word;
        mine.store(trial, store);
        between();
        return Seen{other.load(load), 0};
      },
      [](Word trial, const std::vector<Seen>& s) { return s[0].first < trial && s[1].first < trial; });
}

std::uint64_t sb(std::uint64_t trials) {
  return store_buffering<release, acquire>(trials, [] {});
}
std::uint64_t sb_fence(std::uint64_t trials) {
  return store_buffering<relaxed, relaxed>(trials, [] { std::atomic_thread_fence(std::memory_order_seq_cst); });
}
std::uint64_t sb_consistent(std::uint64_t trials) {
  return store_buffering<std::memory_order_seq_cst, std::memory_order_seq_cst>(trials, [] {});
}

/// A flag behind the data: the flag is seen, the data is not.
std::uint64_t mp(std::uint64_t trials) {
  Memory m;
  return count(
      2, trials,
      [&](int thread, Word trial) {
        Words& w = m[trial];
        Seen s;
        if (thread == 0) {
          w.x.word.store(trial, relaxed);
          w.y.word.store(trial, release);
        } else {
          s.first = w.y.word.load(acquire);
          s.second = w.x.word.load(relaxed);
        }
        return s;
      },
      [](Word trial, const std::vector<Seen>& s) { return s[1].first == trial && s[1].second < trial; });
}

/// The data under a SpinLock, two words of it: half of a change is seen.
std::uint64_t lock_halves(std::uint64_t trials) {
  struct Guarded {
    SpinLock lock;
    Far x, y;
  } g;
  return count(
      2, trials,
      [&](int thread, Word trial) {
        Seen s;
        const SpinGuard guard(g.lock, Pause{});
        if (thread == 0) {
          g.x.word.store(trial, relaxed);
          g.y.word.store(trial, relaxed);
        } else {
          s.first = g.y.word.load(relaxed);
          s.second = g.x.word.load(relaxed);
        }
        return s;
      },
      [](Word, const std::vector<Seen>& s) { return s[1].first != s[1].second; });
}

/// A count under a SpinLock: an addition is lost.
std::uint64_t lock_count(std::uint64_t trials) {
  SpinLock lock;
  std::uint64_t sum = 0;
  count(
      2, trials,
      [&](int, Word) {
        const SpinGuard guard(lock, Pause{});
        ++sum;
        return Seen{};
      },
      [](Word, const std::vector<Seen>&) { return false; });
  return 2 * trials - sum;
}

/// Each thread loads one word, then stores the other: both have read what the other stored behind its load.
std::uint64_t lb(std::uint64_t trials) {
  Memory m;
  return count(
      2, trials,
      [&](int thread, Word trial) {
        std::atomic<Word>& from = thread == 0 ? m[trial].x.word : m[trial].y.word;
        std::atomic<Word>& to = thread == 0 ? m[trial].y.word : m[trial].x.word;
        const Seen s{from.load(acquire), 0};
        to.store(trial, release);
        return s;
      },
      [](Word trial, const std::vector<Seen>& s) { return s[0].first == trial && s[1].first == trial; });
}

/// Two threads store to a word each, two others load both, in different orders: they see the stores in different ones.
template <std::memory_order store, std::memory_order load>
std::uint64_t independent_reads(std::uint64_t trials) {
  Memory m;
  return count(
      4, trials,
      [&](int thread, Word trial) {
        Words& w = m[trial];
        Seen s;
        switch (thread) {
          case 0: w.x.word.store(trial, store); break;
          case 1: w.y.word.store(trial, store); break;
          case 2:
            s.first = w.x.word.load(load);
            s.second = w.y.word.load(load);
            break;
          default: s.first = w.y.word.load(load); s.second = w.x.word.load(load);
        }
        return s;
      },
      [](Word trial, const std::vector<Seen>& s) {
        return s[2].first == trial && s[2].second < trial && s[3].first == trial && s[3].second < trial;
      });
}
std::uint64_t iriw(std::uint64_t trials) { return independent_reads<release, acquire>(trials); }
std::uint64_t iriw_consistent(std::uint64_t trials) {
  return independent_reads<std::memory_order_seq_cst, std::memory_order_seq_cst>(trials);
}

/// The last reference: two threads drop one each, as NodeHeap does; both, or none, find that theirs was the last.
std::uint64_t last_reference(std::uint64_t trials) {
  Memory m;
  return count(
      2, trials,
      [&](int, Word trial) {
        std::atomic<Word>&references = m[trial].x.word, &round = m[trial].y.word;
        // Whoever comes first to a trial sets it up.
        Word before = trial > trials_per_meeting ? trial - trials_per_meeting : 0;
        if (round.compare_exchange_strong(before, trial, std::memory_order_acq_rel)) references.fetch_add(2);
        while (references.load(acquire) == 0) {}
        return Seen{references.fetch_sub(1, std::memory_order_acq_rel) == 1 ? 1U : 0U, 0};
      },
      [](Word, const std::vector<Seen>& s) { return s[0].first + s[1].first != 1; });
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {reordering, "store release; load acquire", "neither sees the other's store", 2, false, sb},
      {no_reordering, "store; fence seq_cst; load", "neither sees the other's store", 2, true, sb_fence},
      {"store buffering, seq_cst", "store seq_cst; load seq_cst", "neither sees the other's store", 2, true,
       sb_consistent},
      {"message passing", "store; store release | load acquire; load", "the flag without the data", 2, true, mp},
      {"load buffering", "load acquire; store release", "both see the other's later store", 2, true, lb},
      {"IRIW", "store release | load acquire; load acquire", "two orders of two stores", 4, false, iriw},
      {"IRIW, seq_cst", "store seq_cst | load seq_cst; load seq_cst", "two orders of two stores", 4, true,
       iriw_consistent},
      {"SpinLock, halves", "SpinGuard | SpinGuard", "half of a change", 2, true, lock_halves},
      {"SpinLock, count", "SpinGuard", "additions lost", 2, true, lock_count},
      {"last reference", "fetch_sub acq_rel", "two last ones, or none", 2, true, last_reference},
  };
  return all;
}

}  // namespace sial::litmus
