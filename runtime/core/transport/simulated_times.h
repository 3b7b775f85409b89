#pragma once
// When each actor of a simulation goes on by itself: a binary tree whose inner nodes know the earliest time below them,
// so that a change costs a few steps however many actors there are. A value without any order of its own.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sial {

class SimulatedTimes {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  explicit SimulatedTimes(std::size_t actors) : leaves_(std::bit_ceil(std::max<std::size_t>(actors, 2))) {
    nodes_.resize(2 * leaves_);
  }

  /// `time` may be never. Who polls does not count for earliest_change().
  void set(int actor, double time, bool polls) {
    std::size_t at = leaves_ + static_cast<std::size_t>(actor);
    nodes_[at] = {time, polls ? never : time, time == never ? 0U : 1U};
    while ((at /= 2) != 0) {
      const Node &a = nodes_[2 * at], &b = nodes_[2 * at + 1];
      nodes_[at] = {std::min(a.earliest, b.earliest), std::min(a.change, b.change), a.count + b.count};
    }
  }
  double earliest() const { return nodes_[1].earliest; }
  /// The earliest change by actors that do not poll: what others wait for cannot happen before.
  double earliest_change() const { return nodes_[1].change; }
  /// Actors that go on at some time.
  std::uint32_t count() const { return nodes_[1].count; }
  /// Calls visit(actor, n) for those who go on at earliest(), in their order; `n` others before them go on at some
  /// time.
  template <class Visit>
  void visit_earliest(const Visit& visit) const {
    if (earliest() != never) visit_below(1, 0, visit);
  }

 private:
  struct Node {
    double earliest = never, change = never;
    std::uint32_t count = 0;
  };

  template <class Visit>
  void visit_below(std::size_t at, std::uint32_t before, const Visit& visit) const {
    if (nodes_[at].earliest != earliest()) return;
    if (at >= leaves_) {
      visit(static_cast<int>(at - leaves_), before);
      return;
    }
    visit_below(2 * at, before, visit);
    visit_below(2 * at + 1, before + nodes_[2 * at].count, visit);
  }

  std::size_t leaves_;
  std::vector<Node> nodes_;  // the root is 1; below node i are 2 i and 2 i + 1
};

}  // namespace sial
