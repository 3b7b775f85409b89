#pragma once
// What earlier programs saved on each rank, compared between the ranks: scalars and static arrays. Each rank has its
// own, which are the same but for what it added up by itself.

#include <cstdint>

#include "runtime/core/interp/context/environment.h"

namespace sial {

/// Of the bits of an array's values.
std::uint64_t hash_of(const DataArray& array);
/// Of all saved scalars and static arrays of a rank.
std::uint64_t hash_of_saved(const RankState& state);
/// Collective: whether all ranks have saved the same.
bool saved_values_agree(const RankState& state, Transport& transport, CollectiveTag tag);

}  // namespace sial
