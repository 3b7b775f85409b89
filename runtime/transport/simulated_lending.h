#pragma once
// Lent memory in the simulator: copies on the virtual clock. A rank sends one copy after another, demands first, beside
// the replies of its helper; the data move when their time has come. Used by whoever has the baton.

#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/transport/remote_memory.h"

namespace sial {

class SimulatedLending {
 public:
  /// The simulation, as the actor that runs sees it.
  struct Hooks {
    std::function<double&()> clock;  // of that actor
    std::function<bool()> ending;
    std::function<void()> pause;
    std::function<void()> look_again;  // whoever polls: something has come
  };
  SimulatedLending(int workers, int total, double latency, double bandwidth, Hooks hooks);

  /// Waits for all ranks.
  std::unique_ptr<RemoteMemory> open(int rank, Lender& lender);
  /// When something happens next; infinite: nothing is under way.
  double next_event() const;
  /// What happens next, where that is no later than `limit`; false: nothing is.
  bool advance_one(double limit);
  /// The link of a rank, for others that send over it.
  double free_at(int rank) const { return links_[static_cast<std::size_t>(rank)].free_at; }
  void occupy(int rank, double until) { links_[static_cast<std::size_t>(rank)].free_at = until; }

 private:
  friend class SimulatedRemoteMemory;
  /// The stores that ranks make one after another, each with all others of its number.
  struct Round {
    std::vector<Lender*> lenders;
    std::size_t opened = 0;
    int workers_closed = 0;
  };
  struct Copy {
    RemoteCopy* copy;
    Round* round;
    int by;
    double since;
  };
  struct Moving {
    Copy what;
    double ends;
  };
  struct Link {
    std::array<std::deque<Copy>, 3> queued;
    double free_at = 0;
  };
  static constexpr double never = std::numeric_limits<double>::infinity();

  void add(RemoteCopy& copy, Round& round, int by);
  void raise(RemoteCopy& copy);
  void end(const Copy& what);
  double next_start(const Link& link) const;
  void start(Link& link, double now);
  /// Ends copies with an error.
  void cancel(const std::function<bool(const Copy&)>& which);

  const int workers_;
  const double latency_, bandwidth_;
  const Hooks hooks_;
  std::vector<Link> links_;          // by rank: what leaves it
  std::vector<std::size_t> opened_;  // by rank
  std::deque<Round> rounds_;
  std::vector<Moving> moving_;
};

}  // namespace sial
