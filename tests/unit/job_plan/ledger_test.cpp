// What the books of a planned job hold to be enough.
#include <catch2/catch.hpp>

#include "runtime/prediction/ledger.h"

using namespace sial;

namespace {

/// What is enough, and the least, for a phase in which a rank of `ranks`, each a node, does `what` beside a block of its own.
template <class What>
ProgramNeed phase(int ranks, std::size_t memory, const What& what) {
  PlanSetting setting;
  setting.ranks = ranks;
  setting.ranks_per_node = 1;
  setting.memory_per_rank = memory;
  Ledger ledger(setting, 0);
  const int item = ledger.item("t", "temp", false);
  ledger.take(item, 100'000);
  what(ledger);
  ledger.drop_fetched(0);
  ledger.end_phase();
  return ledger.end_program("test");
}

}  // namespace

TEST_CASE("sums that are not sent yet are beside all else, a sixteenth of the memory at most") {
  const auto none = phase(2, 1 << 30, [](Ledger&) {});
  const auto few = phase(2, 1 << 30, [](Ledger& l) { l.hold_sum(1000); });
  CHECK(few.least == none.least);
  CHECK(few.enough == none.enough + 1000);
  const auto many = phase(2, 1 << 30, [](Ledger& l) {
    for (int i = 0; i < 1000; ++i) l.hold_sum(1000);
  });
  CHECK(many.enough > none.enough);
  CHECK(many.enough - none.enough <= many.enough / 16);
  CHECK(many.enough - none.enough >= many.enough / 16 - 1);
}

TEST_CASE("a copy of a block that was put since stays until the barrier, or until it is fetched anew") {
  const auto fetch = [](Ledger& l) {
    for (int i = 0; i < 100; ++i) l.fetch(1000);
  };
  const auto fetched = phase(2, 1 << 30, fetch);
  CHECK(fetched.least == 100'000 + 16 * 1000);
  const auto put = phase(2, 1 << 30, [&](Ledger& l) {
    fetch(l);
    for (int i = 0; i < 50; ++i) l.hold_stale(1000);
  });
  CHECK(put.least == 100'000 + 66 * 1000);
  CHECK(put.peak == fetched.peak);
  const auto again = phase(2, 1 << 30, [&](Ledger& l) {
    fetch(l);
    for (int i = 0; i < 50; ++i) {
      l.hold_stale(1000);
      l.drop_stale(1000);
    }
  });
  CHECK(again.least == 100'000 + 17 * 1000);
}
