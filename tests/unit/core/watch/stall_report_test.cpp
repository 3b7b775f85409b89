// When a stall is spoken of, and how.
#include <catch2/catch.hpp>

#include "runtime/core/watch/stall_report.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

RankStatus working(int rank, double still) {
  RankStatus s;
  s.rank = rank;
  s.beat = 1;
  s.still = still;
  s.collectives = 5;
  s.set_text("executes a statement (a.sialx:3)");
  return s;
}

RankStatus at_barrier(int rank, double waiting) {
  RankStatus s = working(rank, waiting);
  s.waiting = waiting;
  s.collectives = 6;
  s.waits_for_collective = 5;
  s.set_text("waits at a barrier (a.sialx:9)");
  return s;
}

std::string host(int rank) { return rank < 2 ? "node1" : "node2"; }

}  // namespace

TEST_CASE("ranks are listed shortly, by host") {
  CHECK(rank_list({3}, nullptr) == "rank 3");
  CHECK(rank_list({4, 0, 2, 3}, nullptr) == "ranks 0, 2-4");
  CHECK(rank_list({0, 1, 2, 4}, host) == "ranks 0-1 (node1), 2, 4 (node2)");
}

TEST_CASE("a report says who waits, and who is missing") {
  const std::vector<RankStatus> all{at_barrier(0, 61), working(1, 62.5), at_barrier(2, 70)};
  CHECK(
      describe_ranks(all, host) ==
      "  ranks 0 (node1), 2 (node2): waits at a barrier (a.sialx:9), for 61 s to 70 s; rank 1 (node1) has not come to it\n"
      "  rank 1 (node1): executes a statement (a.sialx:3), for 62 s\n");
}

TEST_CASE("a stall is spoken of after a while, and again at twice the time") {
  StallReport report(60);
  const auto due = [&](double seconds) {
    return report.due(std::vector{at_barrier(0, seconds), working(1, seconds)}, nullptr);
  };
  CHECK(due(59).empty());
  CHECK_THAT(due(60), Contains("1 of 2 ranks has waited for 60 s"));
  CHECK(due(100).empty());
  CHECK_FALSE(due(121).empty());
  CHECK(due(200).empty());
  CHECK(due(3).empty());  // it is over
  CHECK_FALSE(due(61).empty());
}

TEST_CASE("work is no stall, however long it takes") {
  StallReport report(60);
  CHECK(report.due(std::vector{working(0, 1000), working(1, 2000)}, nullptr).empty());
  StallReport off(0);
  CHECK(off.due(std::vector{at_barrier(0, 1000), working(1, 2000)}, nullptr).empty());
}

TEST_CASE("a job stands still as long as the rank that moved last") {
  CHECK(longest_standstill(std::vector{at_barrier(0, 50), working(1, 20)}) == 20);
  RankStatus unknown;
  unknown.rank = 2;
  CHECK(longest_standstill(std::vector{at_barrier(0, 50), unknown}) == 0);
  RankStatus server = working(3, 0);
  server.serves = 1;
  CHECK(longest_standstill(std::vector{at_barrier(0, 50), server}) == 50);
}
