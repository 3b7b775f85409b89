// Orders of a pardo's iterations: each iteration comes exactly once in every one of them.

#include "runtime/core/bytecode/evaluate/tuple_order.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "runtime/core/bytecode/evaluate/iteration_space.h"

using namespace sial;

namespace {

std::vector<std::vector<int>> all_of(const IterationSpace& space) {
  std::vector<std::vector<int>> all;
  for (std::int64_t n = 0; n < space.size(); ++n) {
    std::vector<int> tuple(space.rank());
    space.at(n, [&](std::size_t d, std::int32_t v) { tuple[d] = v; });
    all.push_back(tuple);
  }
  return all;
}

}  // namespace

TEST_CASE("groups are the outer loops, and the last one is as short as it must be") {
  IterationSpace space;
  CHECK((space.add(1, 3) && space.add(5, 6)));
  TupleOrder order;
  order.add({1, 2});
  order.add({0, 2});
  space.follow(order);
  CHECK_FALSE(space.as_written());
  CHECK(all_of(space) == (std::vector<std::vector<int>>{{1, 5}, {1, 6}, {2, 5}, {2, 6}, {3, 5}, {3, 6}}));
  order[0].group = 1;
  space.follow(order);
  CHECK(all_of(space) == (std::vector<std::vector<int>>{{1, 5}, {2, 5}, {1, 6}, {2, 6}, {3, 5}, {3, 6}}));
}

TEST_CASE("every order has each combination once") {
  std::mt19937 random(7);
  for (int n = 0; n < 300; ++n) {
    IterationSpace space;
    const std::size_t rank = 1 + random() % max_rank;
    std::vector<std::int32_t> counts, indices(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      counts.push_back(static_cast<std::int32_t>(1 + random() % (rank > 3 ? 4 : 9)));
      const auto lo = static_cast<std::int32_t>(random() % 5) - 2;
      CHECK((space.add(lo, lo + counts.back() - 1)));
    }
    std::iota(indices.begin(), indices.end(), 0);
    std::shuffle(indices.begin(), indices.end(), random);
    auto written = all_of(space);
    TupleOrder order;
    for (const std::int32_t i : indices)
      order.add(
          {i, static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(counts[static_cast<std::size_t>(i)]))});
    space.follow(order);
    auto ordered = all_of(space);
    for (std::int64_t at = 0; at < space.size(); ++at) {
      TupleOrder::Counts values{};
      order.at(at, space.counts(), values);
      CHECK(order.number_of(values, space.counts()) == at);
    }
    std::sort(written.begin(), written.end());
    std::sort(ordered.begin(), ordered.end());
    CHECK(ordered == written);
  }
}

TEST_CASE("whole ranges as groups are a permutation") {
  IterationSpace space;
  CHECK((space.add(1, 2) && space.add(1, 3)));
  const auto written = all_of(space);
  TupleOrder same, other;
  same.add({0, 2});
  same.add({1, 3});
  other.add({1, 3});
  other.add({0, 2});
  space.follow(same);
  CHECK(all_of(space) == written);
  space.follow(other);
  CHECK(all_of(space)[1] == (std::vector<int>{1, 2}));
}
