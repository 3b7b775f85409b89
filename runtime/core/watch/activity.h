#pragma once
// The present activity of a rank, for others who want to know why it does not go on. Written by the rank's own thread,
// at the cost of a few stores; read by any thread of its process. Owns no block and no name: an ActivityNamer turns
// numbers into words.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "runtime/core/base/shape.h"
#include "runtime/core/watch/published.h"

namespace sial {

enum class WaitKind : std::int32_t {
  none,
  collective,     // for the other ranks: `sequence` counts the collectives of this rank
  reply,          // of rank `peer`, about no block in particular
  block,          // of rank `peer`
  block_in_tier,  // its bytes come back from a disk or another node
  block_lock,     // somebody else works on it
  other,          // for what other ranks do: a lock, or memory
};

/// Plain memory.
struct WaitReason {
  WaitKind kind = WaitKind::none;
  std::int32_t peer = -1;
  std::int64_t sequence = -1;
  std::int32_t collective = 0;  // number of its CollectiveKind
  std::int32_t program = -1, pc = -1, unused = 0;
  std::uint64_t array = 0;
  BlockIndex block;
};

struct ActivitySnapshot {
  Place place;                  // of the statement
  std::int64_t statements = 0;  // begun so far, and waits: changes when the rank moves
  std::int64_t collectives = 0;
  WaitReason wait;
  std::chrono::steady_clock::time_point wait_began;
};

/// Words for numbers. Called on any thread.
struct ActivityNamer {
  std::function<std::string(Place)> place;  // "ccsd.sialx:12:3"; empty where it is not known
  std::function<std::string(std::uint64_t array, const BlockIndex& block)> block;  // "t2[1,3]"
  std::function<std::string(std::int32_t kind)> collective;                        // "a barrier"
};

class RankActivity {
 public:
  using Clock = std::chrono::steady_clock;

  /// By the rank's thread.
  void begin_statement(std::int32_t pc) {
    pc_.store(pc, std::memory_order_relaxed);
    moved();
  }
  /// In a loop that waits, again and again: since when.
  void record_pause(Clock::time_point began, Clock::time_point now) {
    pause_began_.store(began.time_since_epoch().count(), std::memory_order_relaxed);
    paused_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  /// Whether the rank's thread is within a Waiting.
  bool waits() const { return current_.kind != WaitKind::none; }
  void set_program(std::int32_t program) { program_.store(program, std::memory_order_relaxed); }
  /// The collectives of the job that this rank has come to, the one it waits in included.
  void set_collectives(std::int64_t n) { collectives_.store(n, std::memory_order_relaxed); }

  ActivitySnapshot snapshot() const;

  /// Until it is replaced: words for this rank's numbers. Null functions: numbers stay numbers.
  void set_namer(ActivityNamer namer);
  /// The user's remedy when the job is ended from outside its program: "go on with ...".
  void set_advice(std::string advice);
  std::string advice() const;
  /// "waits at a barrier (ccsd.sialx:12:3)"
  std::string describe(const ActivitySnapshot& snapshot) const;

 private:
  friend class Waiting;
  struct Wait {
    WaitReason reason;
    Clock::rep began = 0;
  };

  void moved() { statements_.store(statements_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  void set_wait(const WaitReason& reason, Clock::time_point began);

  std::atomic<std::int32_t> program_{-1}, pc_{-1};
  std::atomic<std::int64_t> statements_{0}, collectives_{0};
  std::atomic<Clock::rep> pause_began_{0}, paused_{0};
  Published<Wait> wait_;
  WaitReason current_;  // of the rank's thread
  Clock::time_point current_began_;
  mutable std::mutex mutex_;  // of what follows
  ActivityNamer namer_;
  std::string advice_;
};

/// A wait of the rank's thread, for a scope. One within another is the reason while it lasts.
class Waiting {
 public:
  Waiting(RankActivity& activity, const WaitReason& reason);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  RankActivity& activity_;
  const WaitReason outer_;
  const RankActivity::Clock::time_point outer_began_;
};

WaitReason wait_for_collective(std::int32_t kind, Place place, std::int64_t sequence);
WaitReason wait_for_reply(int peer);
WaitReason wait_for_block(WaitKind kind, std::uint64_t array, const BlockIndex& block, int peer = -1);

}  // namespace sial
