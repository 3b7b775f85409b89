#pragma once
// The phase rule (runtime/core/store/README.md) as a state machine per block and phase: in a phase a block is read by
// anyone, accumulated into by anyone, or used privately by one rank. Plain memory, lives in the directory, guarded by
// the block's lock.

#include <cstdint>

#include "runtime/core/base/shape.h"

namespace sial {

/// The use of a block by a statement, as the phase rule sees it: fill and scale count as put, increment as accumulate.
enum class BlockUse : std::int32_t { get = 0, put = 1, accumulate = 2 };

/// An earlier statement of the phase.
struct EarlierUse {
  std::int32_t rank = -1;
  BlockUse use = BlockUse::get;
  Place place;
};

struct PhaseRecord {
  std::int64_t phase;  // of the rest; another phase's record counts as untouched
  std::int32_t state;
  EarlierUse last;   // the most recent use that fits the rule
  EarlierUse other;  // with several ranks: the most recent one by another rank than the last; of a block that only one
                     // rank used: its last use of another kind
};

/// Enters `now`. False when it breaks the rule; the record then stays as it is and `conflict` is another rank's use.
bool enter_use(PhaseRecord& record, std::int64_t phase, const EarlierUse& now, EarlierUse& conflict);

}  // namespace sial
