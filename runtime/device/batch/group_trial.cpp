#include "runtime/device/batch/group_trial.h"

#include <algorithm>

namespace sial {

bool GroupTrial::decided() const {
  if (when_ == DeviceGraphs::off || failures_ >= max_failures) return true;
  if (when_ == DeviceGraphs::on) return of(Way::pieces).begun;
  return of(Way::pieces).seconds.size() == rounds && of(Way::graph).seconds.size() == rounds;
}

GroupTrial::Way GroupTrial::next() const {
  const Times &pieces = of(Way::pieces), &graph = of(Way::graph);
  if (when_ == DeviceGraphs::off || failures_ >= max_failures || !pieces.begun) return Way::pieces;
  if (when_ == DeviceGraphs::on) return Way::graph;
  if (decided()) return graph.seconds[rounds / 2] < pieces.seconds[rounds / 2] ? Way::graph : Way::pieces;
  return !graph.begun || graph.seconds.size() < pieces.seconds.size() ? Way::graph : Way::pieces;
}

void GroupTrial::took(Way way, double seconds) {
  Times& t = times_[static_cast<std::size_t>(way)];
  if (!t.begun) {
    t.begun = true;
    return;
  }
  if (t.seconds.size() < rounds)
    t.seconds.insert(std::upper_bound(t.seconds.begin(), t.seconds.end(), seconds), seconds);
}

}  // namespace sial
