#pragma once
// The order of actors in the simulator, and the time: ranks, and helpers that serve their requests, are actors, each a
// fiber with a clock. One runs until a call of the transport switches to the one whose clock is least. All fibers share
// one thread, so nothing here is locked.

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "runtime/core/transport/fibers.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/core/transport/simulated_random.h"
#include "runtime/core/transport/simulated_times.h"

namespace sial {

class SimulatedScheduler {
 public:
  static constexpr double never = SimulatedTimes::never;

  /// Events on the clock beside what actors do.
  class Events {
   public:
    virtual ~Events() = default;
    /// When the next one happens, or never.
    virtual double next() const = 0;
    /// Lets the next one happen where that is no later than `limit`; false: there is none.
    virtual bool happen(double limit) = 0;
  };
  /// For who waits, in words; called only when that is to be told.
  using Description = std::function<std::string()>;

  /// Actors are `ranks` ranks and, with `helpers`, as many helpers after them.
  SimulatedScheduler(const SimulationOptions& options, int ranks, bool helpers, Events& events);

  /// Runs all actors to their ends; `body` is what each does. Its first error, or that of fail(), ends all others and
  /// is rethrown.
  void run(const std::function<void(int actor)>& body);

  int current() const { return current_; }
  int actors() const { return static_cast<int>(actors_.size()); }
  int helper_of(int rank) const { return ranks_ + rank; }
  double& clock() { return me().clock; }
  double clock_of(int actor) const { return at(actor).clock; }
  /// An error ends the job: calls throw JobEnding.
  bool ending() const { return ending_; }
  std::int64_t switches() const { return switches_; }

  // Calls of the running actor. All may switch, and throw JobEnding while the job is being ended.
  void spend(double seconds);
  void pause();
  void linger(double seconds);
  void block(const std::function<bool()>& ready_now, const Description& waiting_for);
  /// Waits until the time of set_wake(), or forever.
  void sleep();
  /// While the job is being ended: lets `other` end first.
  void let_end(int other);

  // Calls that wake others.
  /// From when on `actor` has something to do while it sleeps.
  void set_wake(int actor, double time);
  /// The event that a blocked actor waits for may have come, at that time.
  void wake(int actor, double time);
  /// The clocks of the first `ranks` show the same, `seconds` after the last of them; none is blocked any more.
  void meet(int ranks, double seconds);
  /// Something has come: whoever polls looks often again.
  void look_again() { ++looks_; }

  /// Called while `rank` waits for others; null: nothing is.
  void set_while_waiting(int rank, std::function<void()> f);
  /// The collective that `rank` has last taken part in, for messages; empty: none.
  void set_description(int rank, Description f) { at(rank).description = std::move(f); }

 private:
  struct Actor {
    enum class State { ready, paused, blocked, done };
    State state = State::ready;
    int pauses = 0;  // in a row, since the last look_again()
    std::int64_t looks = 0;
    double clock = 0;
    double wake = never;  // while it is blocked
    std::function<void()> while_waiting;
    const Description* waiting_for = nullptr;  // while it is blocked
    Description description;
  };
  static constexpr int nobody = -1;

  Actor& at(int actor) { return actors_[static_cast<std::size_t>(actor)]; }
  const Actor& at(int actor) const { return actors_[static_cast<std::size_t>(actor)]; }
  Actor& me() { return at(current_); }
  bool is_helper(int actor) const { return actor >= ranks_; }
  double call_cost();
  double time_of(const Actor& actor) const;
  void record_time(int actor);
  int choose();
  void switch_away();
  void hand_over(int next);
  void fail(std::exception_ptr error);
  void fail_deadlock();
  std::string who_waits() const;
  int live(int actor);
  int first_to_end() const;

  const SimulationOptions& options_;
  const int ranks_;
  Events& events_;
  SimulatedRandom random_;
  std::vector<Actor> actors_;
  std::vector<int> with_work_;  // ranks with something to do while they wait
  SimulatedTimes times_;        // of all but the one that runs
  int current_ = nobody;
  std::int64_t switches_ = 0, looks_ = 0;
  std::int64_t fruitless_pauses_ = 0;
  std::exception_ptr error_;
  bool ending_ = false;
  int actors_left_;
  const std::function<void(int)>* body_ = nullptr;
  Fibers fibers_;
};

}  // namespace sial
