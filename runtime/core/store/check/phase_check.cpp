#include "runtime/core/store/check/phase_check.h"

namespace sial {

namespace {

enum State : std::int32_t { untouched = 0, read_one, read_many, write_one, acc_one, acc_many, single, forbidden };

// One row per state, [use][by the same rank, by another]. The table stands in runtime/core/store/README.md.
constexpr State next_state[7][3][2] = {
    /* untouched */ {{read_one, read_one}, {write_one, write_one}, {acc_one, acc_one}},
    /* read_one  */ {{read_one, read_many}, {single, forbidden}, {single, forbidden}},
    /* read_many */ {{read_many, read_many}, {forbidden, forbidden}, {forbidden, forbidden}},
    /* write_one */ {{single, forbidden}, {single, forbidden}, {single, forbidden}},
    /* acc_one   */ {{single, forbidden}, {single, forbidden}, {acc_one, acc_many}},
    /* acc_many  */ {{forbidden, forbidden}, {forbidden, forbidden}, {acc_many, acc_many}},
    /* single    */ {{single, forbidden}, {single, forbidden}, {single, forbidden}},
};

}  // namespace

bool enter_use(PhaseRecord& record, std::int64_t phase, const EarlierUse& now, EarlierUse& conflict) {
  const State state = record.phase == phase ? static_cast<State>(record.state) : untouched;
  const bool same = state == untouched || record.last.rank == now.rank;
  const State next = next_state[state][static_cast<int>(now.use)][same ? 0 : 1];
  if (next == forbidden) {
    // The culprit among the uses of one rank is one that does not go with this use: two gets go together, and so do two
    // additions.
    const bool goes_with_last = state == single && record.last.use == now.use && now.use != BlockUse::put;
    conflict = same || goes_with_last ? record.other : record.last;
    return false;
  }
  if (next == single) {
    if (record.last.use != now.use || state != single) record.other = record.last;
  } else if (!same) {
    record.other = record.last;
  }
  record.phase = phase;
  record.state = next;
  record.last = now;
  return true;
}

}  // namespace sial
