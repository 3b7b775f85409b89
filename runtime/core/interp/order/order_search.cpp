#include "runtime/core/interp/order/order_search.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace sial {
namespace {

constexpr std::size_t few_indices = 4;          // all permutations of which are looked at
constexpr std::int64_t max_accesses = 500'000;  // looked at in all, orders times accesses
constexpr std::int64_t min_orders = 40;         // that are looked at anyway
constexpr double worth_a_step = 1e-6;           // of the bytes: others are equal

class Search {
 public:
  Search(const RecordedPardo& pardo, std::size_t rank, PardoTraffic& traffic)
      : pardo_(pardo),
        rank_(rank),
        traffic_(traffic),
        orders_left_(std::max(min_orders, max_accesses / std::max<std::int64_t>(1, traffic.accesses()))) {}

  FoundOrder run() {
    std::vector<std::int32_t> indices(rank_);
    std::iota(indices.begin(), indices.end(), 0);
    consider(plain(indices));
    if (moving().size() <= few_indices) {
      while (std::next_permutation(indices.begin(), indices.end())) consider(plain(indices));
    } else {
      for (const std::int32_t first : moving()) {
        std::vector<std::int32_t> moved(indices);
        std::rotate(moved.begin(), moved.begin() + first, moved.begin() + first + 1);
        consider(plain(moved));
      }
    }
    while (step()) {}
    return best_;
  }

 private:
  /// Indices with more than one value: the others stay where they are, and permutations that move them say nothing.
  std::vector<std::int32_t> moving() const {
    std::vector<std::int32_t> indices;
    for (std::size_t d = 0; d < rank_; ++d)
      if (count(static_cast<std::int32_t>(d)) > 1) indices.push_back(static_cast<std::int32_t>(d));
    return indices;
  }
  std::int32_t count(std::int32_t index) const { return pardo_.counts[static_cast<std::size_t>(index)]; }

  /// Without groups.
  TupleOrder plain(const std::vector<std::int32_t>& indices) const {
    TupleOrder order;
    for (const std::int32_t index : indices) order.add({index, count(index)});
    return order;
  }

  /// False: no better than what there is.
  bool consider(const TupleOrder& order) {
    if (orders_left_ <= 0 && best_.order.size() > 0) return false;
    --orders_left_;
    const PardoTraffic::Bytes bytes = traffic_.bytes(order);
    if (best_.order.size() > 0 && bytes.rating() >= best_.bytes.rating() * (1 - worth_a_step)) return false;
    best_ = {order, bytes};
    return true;
  }

  /// The first better neighbour of the best order.
  bool step() {
    const TupleOrder from = best_.order;
    for (std::size_t d = 0; d < rank_; ++d)
      for (const std::int32_t group : groups(from[d])) {
        TupleOrder to = from;
        to[d].group = group;
        if (consider(to)) return true;
      }
    for (std::size_t d = 0; d < rank_; ++d)
      for (std::size_t place = 0; place < rank_; ++place)
        if (place != d && count(from[d].index) > 1 && consider(moved(from, d, place))) return true;
    return false;
  }

  /// Sizes that the groups of an index may have instead: powers of two, all, and one more or less.
  std::vector<std::int32_t> groups(const TupleOrder::Step& step) const {
    const std::int32_t most = count(step.index);
    std::set<std::int32_t> sizes{most, std::max(1, step.group - 1), std::min(most, step.group + 1)};
    for (std::int32_t g = 1; g < most; g *= 2) sizes.insert(g);
    sizes.erase(step.group);
    return {sizes.begin(), sizes.end()};
  }

  TupleOrder moved(const TupleOrder& from, std::size_t d, std::size_t place) const {
    std::vector<TupleOrder::Step> steps;
    for (std::size_t k = 0; k < rank_; ++k)
      if (k != d) steps.push_back(from[k]);
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(place), from[d]);
    TupleOrder order;
    for (const TupleOrder::Step& step : steps) order.add(step);
    return order;
  }

  const RecordedPardo& pardo_;
  const std::size_t rank_;
  PardoTraffic& traffic_;
  std::int64_t orders_left_;
  FoundOrder best_;
};

}  // namespace

FoundOrder search_order(const RecordedPardo& pardo, std::size_t rank, PardoTraffic& traffic) {
  return Search(pardo, rank, traffic).run();
}

}  // namespace sial
