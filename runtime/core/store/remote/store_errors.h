#pragma once
// The errors for the user when a block cannot be used as a statement wants: SialError with the block's name, the
// statement and what to change. Free functions over the rank's context; nothing is kept.

#include "runtime/core/base/ids.h"
#include "runtime/core/store/remote/context.h"
#include "runtime/core/store/remote/messages.h"

namespace sial {

/// Throws where the outcome of the request is not ok.
[[noreturn]] void throw_outcome(StoreContext& context, const Outcome& outcome, RequestKind kind, ArrayId array,
                                const BlockIndex& block, std::int64_t size, Place place);
inline void report(StoreContext& context, const Outcome& outcome, RequestKind kind, ArrayId array,
                   const BlockIndex& block, std::int64_t size, Place place) {
  if (outcome.status != BlockStatus::ok) throw_outcome(context, outcome, kind, array, block, size, place);
}

[[noreturn]] void throw_not_fetched(StoreContext& context, ArrayId array, const BlockIndex& block, Place place);

/// --check: throws for the first value that is not a number or not finite.
void check_finite(StoreContext& context, ArrayId array, const BlockIndex& block, std::int64_t size, const double* data,
                  Place place);

}  // namespace sial
