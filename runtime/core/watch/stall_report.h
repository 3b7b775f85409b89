#pragma once
// When ranks have not moved for long, and how that is said: who waits for what, and who is missing.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/watch/rank_status.h"

namespace sial {

/// The host of a rank, or an empty string where all ranks are on one host.
using HostNamer = std::function<std::string(int rank)>;

/// "3", "0, 2-5", with hosts: "0, 2-3 (node1), 4-5 (node2)"
std::string rank_list(std::vector<int> ranks, const HostNamer& host);

/// A line for each thing that ranks do, with these ranks, in order of their lowest one.
std::string describe_ranks(std::span<const RankStatus> ranks, const HostNamer& host);

/// Decides when to speak. Owned by the watcher that sees all ranks.
class StallReport {
 public:
  /// Seconds that a rank waits before it is spoken of; 0: never.
  explicit StallReport(double after) : after_(after), next_(after) {}
  /// The text that is due, or an empty one. As long as a stall lasts it is said again at twice the time.
  std::string due(std::span<const RankStatus> ranks, const HostNamer& host);

 private:
  double after_, next_;
};

/// The least time, in seconds, for which no worker has moved; 0 where nothing is known of a worker.
double longest_standstill(std::span<const RankStatus> ranks);

}  // namespace sial
