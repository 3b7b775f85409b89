#pragma once
// The iterations of a pardo that go to each node, where ranks draw them from queues of the nodes. A node's share is a
// range of numbers. Where clauses such as `where a <= b` leave much work in some parts of the iteration space and
// little in others: so a share consists of strips from all over it, dealt forth and back (0 1 2 2 1 0), which evens out
// densities that rise or fall. A plain value.

#include <algorithm>
#include <cstdint>

#include "runtime/core/base/iteration_shares.h"

namespace sial {

class NodeStrips {
 public:
  /// One node: numbers are iterations.
  NodeStrips() = default;
  /// Divides `total` iterations into strips of `length`.
  NodeStrips(std::int64_t total, std::int64_t nodes, std::int64_t length)
      : total_(total), nodes_(nodes), length_(length), rounds_(total / nodes / length) {}

  bool dealt() const { return rounds_ > 1; }

  /// The iteration with this number; the strip ends before number `last`.
  std::int64_t iteration(std::int64_t number, std::int64_t& last) const {
    const std::int64_t node = node_of(number), first = share_before(total_, nodes_, node), in_share = number - first;
    const std::int64_t round = in_share / length_;
    if (round >= rounds_) {  // what is left of all shares lies after all rounds
      last = share_before(total_, nodes_, node + 1);
      return rounds_ * length_ * (nodes_ - 1 - node) + number;
    }
    const std::int64_t strip = round * nodes_ + (round % 2 == 0 ? node : nodes_ - 1 - node);
    last = first + (round + 1) * length_;
    return strip * length_ + in_share % length_;
  }

 private:
  std::int64_t node_of(std::int64_t number) const {
    std::int64_t node = std::min(number / std::max<std::int64_t>(1, total_ / nodes_), nodes_ - 1);
    while (share_before(total_, nodes_, node) > number) --node;
    while (share_before(total_, nodes_, node + 1) <= number) ++node;
    return node;
  }

  std::int64_t total_ = 0, nodes_ = 1, length_ = 1, rounds_ = 0;
};

}  // namespace sial
