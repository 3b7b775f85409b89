#pragma once
// The offline optimum of a run: what the uses of blocks that a node has recorded would have moved to and from tiers,
// had all been known from the start. Values.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/store/spill/tier_counts.h"
#include "runtime/store/spill/use_record.h"
#include "runtime/tier/replay/access_sequence.h"

namespace sial {

struct RecordedUses {
  AccessSequence sequence;
  std::vector<std::int64_t> capacity;  // bytes that blocks had, per part of the sequence: from barrier to barrier
};

/// `first_rank`: of those that record, the one by whose barriers the record is divided. `budget`: bytes of the node.
RecordedUses recorded_uses(const UseRecord& record, std::uint16_t first_rank, std::int64_t budget);

/// When nobody adds to the record; it is empty afterwards.
TierOptimum take_optimum(UseRecord& record, std::uint16_t first_rank, std::int64_t budget);

}  // namespace sial
