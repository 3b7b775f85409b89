// Every cell of the table of the phase rule (runtime/core/store/check/phase_check.cpp).
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/core/store/check/phase_check.h"

using namespace sial;

namespace {

constexpr BlockUse uses[3] = {BlockUse::get, BlockUse::put, BlockUse::accumulate};

// Brings a record into a state by uses of ranks 1 and 2; rank 1 is the table's w.
PhaseRecord reach(const std::string& state) {
  PhaseRecord r{};
  r.phase = -1;
  EarlierUse conflict;
  const auto enter = [&](int rank, BlockUse use) { REQUIRE(enter_use(r, 7, {rank, use, {0, rank}}, conflict)); };
  if (state == "read") enter(1, BlockUse::get);
  if (state == "read many") enter(1, BlockUse::get), enter(2, BlockUse::get);
  if (state == "write") enter(1, BlockUse::put);
  if (state == "acc") enter(1, BlockUse::accumulate);
  if (state == "acc many") enter(1, BlockUse::accumulate), enter(2, BlockUse::accumulate);
  if (state == "single") enter(1, BlockUse::get), enter(1, BlockUse::put);
  return r;
}

// What may follow, as a row of six: w gets, puts, accumulates, then w'. A state's fingerprint.
std::string row(const PhaseRecord& r) {
  std::string s;
  for (const int rank : {1, 3})
    for (const BlockUse use : uses) {
      PhaseRecord copy = r;
      EarlierUse conflict;
      s += enter_use(copy, 7, {rank, use, {}}, conflict) ? 'y' : 'n';
    }
  return s;
}

}  // namespace

TEST_CASE("what each state allows to w and to another") {
  CHECK(row(reach("untouched")) == "yyyyyy");
  CHECK(row(reach("read")) == "yyyynn");
  CHECK(row(reach("read many")) == "ynnynn");
  CHECK(row(reach("write")) == "yyynnn");
  CHECK(row(reach("acc")) == "yyynny");
  CHECK(row(reach("acc many")) == "nnynny");
  CHECK(row(reach("single")) == "yyynnn");
}

TEST_CASE("where each step leads") {
  const auto after = [](const std::string& state, int rank, BlockUse use) {
    PhaseRecord r = reach(state);
    EarlierUse conflict;
    REQUIRE(enter_use(r, 7, {rank, use, {}}, conflict));
    return r.state;
  };
  const auto is = [](const std::string& state) { return reach(state).state; };
  CHECK(after("untouched", 1, BlockUse::get) == is("read"));
  CHECK(after("untouched", 1, BlockUse::put) == is("write"));
  CHECK(after("untouched", 1, BlockUse::accumulate) == is("acc"));
  CHECK(after("read", 1, BlockUse::get) == is("read"));
  CHECK(after("read", 1, BlockUse::put) == is("single"));
  CHECK(after("read", 1, BlockUse::accumulate) == is("single"));
  CHECK(after("read", 3, BlockUse::get) == is("read many"));
  CHECK(after("write", 1, BlockUse::get) == is("single"));
  CHECK(after("write", 1, BlockUse::put) == is("single"));
  CHECK(after("write", 1, BlockUse::accumulate) == is("single"));
  CHECK(after("acc", 1, BlockUse::get) == is("single"));
  CHECK(after("acc", 1, BlockUse::put) == is("single"));
  CHECK(after("acc", 1, BlockUse::accumulate) == is("acc"));
  CHECK(after("acc", 3, BlockUse::accumulate) == is("acc many"));
  for (const BlockUse use : uses) CHECK(after("single", 1, use) == is("single"));
}

TEST_CASE("a new phase starts untouched, and a refused use changes nothing") {
  PhaseRecord r = reach("single");
  EarlierUse conflict;
  CHECK_FALSE(enter_use(r, 7, {2, BlockUse::get, {0, 40}}, conflict));
  CHECK(conflict.rank == 1);
  CHECK(conflict.use == BlockUse::put);
  CHECK(row(r) == row(reach("single")));
  CHECK(enter_use(r, 8, {2, BlockUse::get, {0, 40}}, conflict));
  CHECK(r.state == reach("read").state);
}

TEST_CASE("of a block that a rank changed and then got, the change is named") {
  for (const BlockUse change : {BlockUse::put, BlockUse::accumulate}) {
    PhaseRecord r{};
    r.phase = -1;
    EarlierUse conflict;
    REQUIRE(enter_use(r, 7, {1, change, {0, 10}}, conflict));
    REQUIRE(enter_use(r, 7, {1, BlockUse::get, {0, 20}}, conflict));
    REQUIRE(enter_use(r, 7, {1, BlockUse::get, {0, 30}}, conflict));
    CHECK_FALSE(enter_use(r, 7, {2, BlockUse::get, {0, 40}}, conflict));
    CHECK(conflict.rank == 1);
    CHECK(conflict.use == change);
    CHECK(conflict.place.pc == 10);
  }
  PhaseRecord r{};
  r.phase = -1;
  EarlierUse conflict;
  REQUIRE(enter_use(r, 7, {1, BlockUse::get, {0, 10}}, conflict));
  REQUIRE(enter_use(r, 7, {1, BlockUse::put, {0, 20}}, conflict));
  REQUIRE(enter_use(r, 7, {1, BlockUse::get, {0, 30}}, conflict));
  CHECK_FALSE(enter_use(r, 7, {2, BlockUse::get, {0, 40}}, conflict));
  CHECK(conflict.place.pc == 20);
}

TEST_CASE("of a block that a rank replaced and then added to, the replacement is named to who adds") {
  for (const BlockUse first : {BlockUse::put, BlockUse::get}) {
    PhaseRecord r{};
    r.phase = -1;
    EarlierUse conflict;
    REQUIRE(enter_use(r, 7, {1, first, {0, 10}}, conflict));
    REQUIRE(enter_use(r, 7, {1, BlockUse::accumulate, {0, 20}}, conflict));
    REQUIRE(enter_use(r, 7, {1, BlockUse::accumulate, {0, 30}}, conflict));
    CHECK_FALSE(enter_use(r, 7, {2, BlockUse::accumulate, {0, 40}}, conflict));
    CHECK(conflict.use == first);
    CHECK(conflict.place.pc == 10);
  }
}

TEST_CASE("a conflict names another rank even if the offender came last") {
  PhaseRecord r = reach("read many");
  EarlierUse conflict;
  CHECK_FALSE(enter_use(r, 7, {2, BlockUse::put, {}}, conflict));
  CHECK(conflict.rank == 1);
  CHECK_FALSE(enter_use(r, 7, {1, BlockUse::put, {}}, conflict));
  CHECK(conflict.rank == 2);
}
