#pragma once
// Shared by the simulated tiers of a node: the bytes, and a channel for each direction, which moves one transfer after
// another, demands first. Its clock is what the ranks say. Safe for threads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/core/tier/tier.h"

namespace sial {

struct SimulatedSpeed {
  double latency = 100e-6;                             // seconds from the end of the transfer to its completion
  double read_bandwidth = 2e9, write_bandwidth = 1e9;  // bytes per second
};

class SimulatedSpace {
 public:
  SimulatedSpace(std::uint64_t capacity, const SimulatedSpeed& speed);

  std::uint64_t capacity() const { return capacity_; }
  const SimulatedSpeed& speed() const { return speed_; }

  /// `tier`: whose transfer it is.
  void add(const void* tier, TierTransfer& transfer, bool write, TierPriority priority, double now);
  void raise(TierTransfer& transfer);
  /// Moves the bytes of what has ended by `now`, and completes it.
  void advance(double now);
  /// When the next transfer ends; infinite: there is none.
  double next_completion();
  /// Ends all transfers of a tier, whatever the time.
  void finish(const void* tier);

 private:
  struct Queued {
    const void* tier;
    TierTransfer* transfer;
    bool write;
    double since;
  };
  struct Moving {
    Queued what;
    double ends;
  };
  struct Channel {
    std::array<std::deque<Queued>, 3> queued;  // by priority
    double free_at = 0;
  };

  static void raise_awaited(Channel& channel);
  void start(Channel& channel, double now);
  Queued next(Channel& channel) const;
  void move(const Queued& what);
  std::byte* chunk(std::uint64_t at);

  const std::uint64_t capacity_;
  const SimulatedSpeed speed_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  Channel reads_, writes_;
  std::vector<Moving> moving_;
  double now_ = 0;  // the latest that was said
};

}  // namespace sial
