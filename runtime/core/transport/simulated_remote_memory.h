#pragma once
// Memory of other nodes in the simulator: copies on the virtual clock. A rank sends one copy after another, demands
// first, beside the replies of its helper; the data move when their time has come. Used by whichever actor runs.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/core/transport/remote_memory.h"
#include "runtime/core/transport/simulated_scheduler.h"
#include "runtime/core/transport/simulated_times.h"

namespace sial {

class SimulatedRemoteTransfers {
 public:
  static constexpr double never = SimulatedTimes::never;

  SimulatedRemoteTransfers(SimulatedScheduler& scheduler, const SimulationOptions& options, int total);

  /// Waits for all ranks.
  std::unique_ptr<RemoteMemory> open(int rank, MemoryProvider& provider);
  /// When something happens next; never: nothing is under way.
  double next_event() const { return std::min(starts_.earliest(), moving_.empty() ? never : moving_.begin()->first); }
  /// Carries out the next event, where that is no later than `limit`; false: there is none.
  bool advance_one(double limit);
  /// The link of a rank, for others that send over it.
  double free_at(int rank) const { return links_[static_cast<std::size_t>(rank)].free_at; }
  void occupy(int rank, double until) {
    links_[static_cast<std::size_t>(rank)].free_at = until;
    record_start(rank);
  }

 private:
  friend class SimulatedRemoteMemory;
  /// The stores that ranks make one after another, each with all others of its number.
  struct Round {
    std::vector<MemoryProvider*> providers;
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
    std::int64_t number;  // in the order of their starts
  };
  struct Link {
    std::array<std::deque<Copy>, 3> queued;
    double first = never;  // of those
    double free_at = 0;
  };

  void add(RemoteCopy& copy, Round& round, int by);
  void raise(RemoteCopy& copy);
  void end(const Copy& what);
  void record_first(int rank);
  /// The link can take its next copy when it is free and one has come.
  void record_start(int rank) {
    const Link& link = links_[static_cast<std::size_t>(rank)];
    starts_.set(rank, std::max(link.first, link.free_at), false);
  }
  void start(int rank, double now);
  /// Ends copies with an error.
  void cancel(const std::function<bool(const Copy&)>& which);

  SimulatedScheduler& scheduler_;
  const SimulationOptions& options_;
  std::vector<Link> links_;          // by rank: what leaves it
  SimulatedTimes starts_;            // by rank
  std::vector<std::size_t> opened_;  // by rank
  std::deque<Round> rounds_;
  std::multimap<double, Moving> moving_;  // by when they end; of those at the same time, the first started first
  std::int64_t started_ = 0;
};

}  // namespace sial
