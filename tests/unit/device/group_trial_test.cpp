// Which way work that comes again and again is started.
#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "runtime/device/batch/group_trial.h"

using namespace sial;
using Way = GroupTrial::Way;

namespace {

/// The ways of `n` starts that take so long each.
std::vector<Way> ways(GroupTrial& trial, int n, double pieces, double graph) {
  std::vector<Way> taken;
  for (int i = 0; i < n; ++i) {
    taken.push_back(trial.next());
    trial.took(taken.back(), taken.back() == Way::graph ? graph : pieces);
  }
  return taken;
}

}  // namespace

TEST_CASE("the first start of a composition is piece by piece; then graphs, where they are asked for") {
  GroupTrial off(DeviceGraphs::off), on(DeviceGraphs::on);
  CHECK(ways(off, 20, 9.0, 1.0) == std::vector<Way>(20, Way::pieces));
  CHECK(off.decided());
  CHECK(!on.decided());
  std::vector<Way> expected(20, Way::graph);
  expected[0] = Way::pieces;
  CHECK(ways(on, 20, 1.0, 9.0) == expected);
  CHECK(on.decided());
}

TEST_CASE(
    "where they are compared both ways take turns, the first of each does not count, and the lower median stays") {
  constexpr int trials = 2 + 2 * static_cast<int>(GroupTrial::rounds);
  for (const bool graphs_pay : {true, false}) {
    GroupTrial trial(DeviceGraphs::measured);
    trial.took(trial.next(), 1e9);
    REQUIRE(trial.next() == Way::graph);
    trial.took(Way::graph, 1e9);
    // What the clock says once is of no weight.
    CHECK(ways(trial, 2, graphs_pay ? 1e-9 : 1e9, graphs_pay ? 1e9 : 1e-9) ==
          std::vector<Way>{Way::pieces, Way::graph});
    CHECK(!trial.decided());
    const std::vector<Way> rest = ways(trial, trials - 4, graphs_pay ? 2.0 : 1.0, graphs_pay ? 1.0 : 2.0);
    CHECK(std::count(rest.begin(), rest.end(), Way::graph) == static_cast<int>(GroupTrial::rounds) - 1);
    CHECK(trial.decided());
    CHECK(ways(trial, 30, 5.0, 5.0) == std::vector<Way>(30, graphs_pay ? Way::graph : Way::pieces));
  }
  GroupTrial same(DeviceGraphs::measured);  // without a difference there is no reason for graphs
  ways(same, trials, 1.0, 1.0);
  CHECK(same.next() == Way::pieces);
}

TEST_CASE("graphs that fail again and again end, also those that were asked for") {
  for (const DeviceGraphs when : {DeviceGraphs::on, DeviceGraphs::measured}) {
    GroupTrial trial(when);
    ways(trial, 1, 1.0, 1.0);
    for (int i = 0; i < GroupTrial::max_failures; ++i) {
      CHECK(trial.next() == Way::graph);
      trial.failed();
    }
    CHECK(trial.decided());
    CHECK(ways(trial, 20, 9.0, 1.0) == std::vector<Way>(20, Way::pieces));
  }
}
