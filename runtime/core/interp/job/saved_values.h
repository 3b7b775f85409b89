#pragma once
// Comparison between the ranks of what earlier programs saved on each: scalars and static arrays. Each rank has its
// own, which are the same but for what it added up by itself.

#include <cstdint>

#include "runtime/core/interp/context/environment.h"

namespace sial {

/// The hash of the bits of an array's values.
std::uint64_t hash_of(const DataArray& array);
/// The hash of all saved scalars and static arrays of a rank.
std::uint64_t hash_of_saved(const RankState& state);
/// Collective: whether all ranks have saved the same.
bool saved_values_agree(const RankState& state, Transport& transport, CollectiveTag tag);

}  // namespace sial
