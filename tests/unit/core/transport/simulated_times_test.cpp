// The simulator's tree of times and its numbered random numbers, against plain searches.
#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/core/transport/simulated_random.h"
#include "runtime/core/transport/simulated_times.h"

using namespace sial;

TEST_CASE("the earliest of all times, after any changes") {
  constexpr double never = SimulatedTimes::never;
  SimulatedRandom random(1);
  for (const std::size_t actors : {1, 2, 3, 7, 8, 100}) {
    SimulatedTimes tree(actors);
    std::vector<double> times(actors, never);
    std::vector<char> polls(actors, 0);
    CHECK(tree.earliest() == never);
    for (int step = 0; step < 300; ++step) {
      const std::size_t a = random.next() % actors;
      times[a] = random.next() % 4 == 0 ? never : static_cast<double>(random.next() % 8);  // often the same
      polls[a] = random.next() % 3 == 0;
      tree.set(static_cast<int>(a), times[a], polls[a] != 0);
      const double earliest = *std::min_element(times.begin(), times.end());
      REQUIRE(tree.earliest() == earliest);
      double change = never;
      std::uint32_t count = 0;
      std::vector<std::pair<int, std::uint32_t>> first, found;
      for (std::size_t i = 0; i < actors; ++i) {
        if (!polls[i]) change = std::min(change, times[i]);
        if (times[i] != never && times[i] == earliest) first.emplace_back(static_cast<int>(i), count);
        if (times[i] != never) ++count;
      }
      REQUIRE(tree.earliest_change() == change);
      REQUIRE(tree.count() == count);
      tree.visit_earliest([&](int actor, std::uint32_t others) { found.emplace_back(actor, others); });
      REQUIRE(found == first);
    }
  }
}

TEST_CASE("random numbers by their position") {
  SimulatedRandom one(7), other(7);
  for (std::uint64_t n = 0; n < 100; ++n) {
    const SimulatedRandom here = one;
    one.skip(n);
    for (std::uint64_t i = 0; i < n; ++i) CHECK(here.after(i) == other.next());
    CHECK(one.next() == other.next());
  }
}
