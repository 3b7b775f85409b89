#include "runtime/core/transport/simulated_scheduler.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/transport.h"

namespace sial {
namespace {

/// Consecutive fruitless pauses per waiting rank after which everybody is taken to wait for ever.
constexpr std::int64_t pauses_until_deadlock = 5000;

}  // namespace

SimulatedScheduler::SimulatedScheduler(const SimulationOptions& options, int ranks, bool helpers, Events& events)
    : options_(options),
      ranks_(ranks),
      events_(events),
      random_(options.seed),
      actors_(static_cast<std::size_t>(helpers ? 2 * ranks : ranks)),
      times_(actors_.size()),
      actors_left_(actors()),
      fibers_(actors(), [this](int actor) { return live(actor); }) {
  for (int a = 0; a < actors(); ++a) record_time(a);
}

double SimulatedScheduler::call_cost() {
  double cost = options_.call_seconds * 2 * random_.uniform();
  if (options_.disorder && random_.uniform() < 0.1) cost *= std::exp(random_.uniform() * 6.9);
  return cost;
}

void SimulatedScheduler::spend(double seconds) {
  if (ending_) throw JobEnding{};
  fruitless_pauses_ = 0;
  me().clock += seconds + call_cost();
  me().pauses = 0;
  switch_away();
}

void SimulatedScheduler::pause() {
  if (ending_) throw JobEnding{};
  for (const int r : with_work_)
    if (r == current_ || at(r).state == Actor::State::blocked) at(r).while_waiting();
  Actor& actor = me();
  if (actor.looks != looks_) {
    actor.looks = looks_;
    actor.pauses = 0;
  }
  // Polls ever more rarely, so that waiting for a long computation takes few steps; but nothing can change later than
  // the next action of somebody who is not polling himself, so that waiting stays exact where it matters.
  actor.clock += call_cost();
  const double later =
      actor.clock + options_.call_seconds * std::ldexp(1 + random_.uniform(), std::min(actor.pauses++, 20));
  if (const double next = std::min(times_.earliest_change(), events_.next()); next != never) {
    actor.clock = std::min(later, std::max(actor.clock, next + options_.call_seconds * random_.uniform()));
    fruitless_pauses_ = 0;
  } else {
    actor.clock = later;
    if (++fruitless_pauses_ > pauses_until_deadlock * actors()) {
      fail_deadlock();
      throw JobEnding{};
    }
  }
  actor.state = Actor::State::paused;
  switch_away();
}

/// The rank that is about to say why must not be taken for one of those that wait for ever.
void SimulatedScheduler::linger(double seconds) {
  const double until = me().clock + seconds;
  const std::int64_t in_vain = 10 * static_cast<std::int64_t>(actors());
  fruitless_pauses_ = 0;
  while (me().clock < until && fruitless_pauses_ < in_vain) pause();
}

void SimulatedScheduler::block(const std::function<bool()>& ready_now, const Description& waiting_for) {
  fruitless_pauses_ = 0;
  me().pauses = 0;
  while (true) {
    if (ending_) throw JobEnding{};
    if (ready_now()) return;
    me().state = Actor::State::blocked;
    me().waiting_for = &waiting_for;
    switch_away();
  }
}

void SimulatedScheduler::sleep() {
  me().state = Actor::State::blocked;
  switch_away();
}

void SimulatedScheduler::let_end(int other) { hand_over(other); }

void SimulatedScheduler::set_while_waiting(int rank, std::function<void()> f) {
  std::erase(with_work_, rank);
  if (f) with_work_.insert(std::ranges::lower_bound(with_work_, rank), rank);
  at(rank).while_waiting = std::move(f);
}

void SimulatedScheduler::set_wake(int actor, double time) {
  at(actor).wake = time;
  record_time(actor);
}

void SimulatedScheduler::wake(int actor, double time) {
  if (at(actor).state != Actor::State::blocked) return;
  at(actor).state = Actor::State::ready;
  at(actor).clock = std::max(at(actor).clock, time);
  record_time(actor);
}

void SimulatedScheduler::meet(int ranks, double seconds) {
  double time = 0;
  for (int r = 0; r < ranks; ++r) time = std::max(time, at(r).clock);
  for (int r = 0; r < ranks; ++r) {
    at(r).clock = time + seconds;
    at(r).state = Actor::State::ready;
    record_time(r);
  }
}

double SimulatedScheduler::time_of(const Actor& actor) const {
  if (actor.state == Actor::State::done) return never;
  if (actor.state != Actor::State::blocked) return actor.clock;
  return actor.wake == never ? never : std::max(actor.clock, actor.wake);
}

/// After a change of another actor than the one that runs.
void SimulatedScheduler::record_time(int actor) {
  if (actor != current_) times_.set(actor, time_of(at(actor)), at(actor).state == Actor::State::paused);
}

/// The actor to run next, after the events that happen before; nobody when all wait for ever. Those who go on at the
/// same time draw lots: each actor with a time has one.
int SimulatedScheduler::choose() {
  double mine = never, first = never;
  SimulatedRandom lots = random_;
  do {
    mine = current_ == nobody ? never : time_of(me());
    first = std::min(mine, times_.earliest());
    lots = random_;
    random_.skip(times_.count() + (mine == never ? 0 : 1));
  } while (events_.happen(first));
  if (first == never) return nobody;
  int best = current_;
  if (mine >= times_.earliest()) {
    if (mine != never) times_.set(current_, mine, me().state == Actor::State::paused);
    best = nobody;
    std::uint64_t best_lot = 0;
    times_.visit_earliest([&](int actor, std::uint32_t others) {
      const std::uint64_t lot = lots.after(others);
      if (best == nobody || lot < best_lot) best = actor, best_lot = lot;
    });
    times_.set(best, never, false);
  }
  at(best).clock = first;  // a helper's clock moves to what it wakes for
  return best;
}

/// Called after the running actor's state and clock are set; returns when it runs again.
void SimulatedScheduler::switch_away() {
  if (!ending_) {
    const int next = choose();
    if (next == nobody) {
      fail_deadlock();
    } else {
      if (next != current_) hand_over(next);
      me().state = Actor::State::ready;
    }
  }
  if (ending_) throw JobEnding{};
}

/// Returns when the actor that calls this runs again.
void SimulatedScheduler::hand_over(int next) {
  ++switches_;
  current_ = next;
  fibers_.switch_to(next);
}

/// Ends the job: from now on each actor is woken in turn to unwind.
void SimulatedScheduler::fail(std::exception_ptr error) {
  if (!error_) error_ = error;
  ending_ = true;
}

void SimulatedScheduler::fail_deadlock() {
  fail(std::make_exception_ptr(SialError("deadlock: every rank waits for another one: " + who_waits())));
}

std::string SimulatedScheduler::who_waits() const {
  std::string text;
  for (int a = 0; a < actors(); ++a) {
    const Actor& actor = at(a);
    std::string what;
    if (actor.state == Actor::State::done) {
      if (is_helper(a)) continue;
      what = "has ended";
    } else if (actor.state == Actor::State::blocked) {
      if (is_helper(a)) continue;
      what = "waits for " + (*actor.waiting_for)();
    } else {
      const std::string last = actor.description ? actor.description() : std::string();
      what = last.empty() ? "polls" : "polls, last collective: " + last;
    }
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : "; ",
                    is_helper(a) ? fmt::format("the helper of rank {}", a - ranks_) : fmt::format("rank {}", a), what);
  }
  return text;
}

/// At the end of the job, good or bad, everybody is woken in turn to leave; helpers first, which use what ranks own.
int SimulatedScheduler::first_to_end() const {
  for (int a = actors() - 1; a >= 0; --a)
    if (at(a).state != Actor::State::done) return a;
  return nobody;
}

/// The life of an actor; who goes on afterwards.
int SimulatedScheduler::live(int actor) {
  try {
    if (ending_) throw JobEnding{};
    (*body_)(actor);
  } catch (const JobEnding&) {
  } catch (...) { fail(std::current_exception()); }
  me().state = Actor::State::done;
  if (--actors_left_ == 0) return Fibers::caller;
  int next = ending_ ? nobody : choose();
  if (next == nobody) {
    const bool workers_wait = std::any_of(actors_.begin(), actors_.begin() + options_.ranks,
                                          [](const Actor& a) { return a.state != Actor::State::done; });
    if (!ending_ && workers_wait) fail_deadlock();
    next = first_to_end();
  }
  ++switches_;
  current_ = next;
  return next;
}

void SimulatedScheduler::run(const std::function<void(int)>& body) {
  body_ = &body;
  current_ = choose();
  ++switches_;
  fibers_.run(current_);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace sial
