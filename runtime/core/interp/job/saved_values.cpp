#include "runtime/core/interp/job/saved_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace sial {

std::uint64_t hash_of(const DataArray& array) {
  std::uint64_t hash = array.data.size();
  for (const double x : array.data) hash = mix_hash(hash, std::bit_cast<std::uint64_t>(x));
  return hash;
}

std::uint64_t hash_of_saved(const RankState& state) {
  std::uint64_t hash = state.saved_scalars.size();
  for (const auto& [label, value] : state.saved_scalars) hash = mix_hash(hash, std::bit_cast<std::uint64_t>(value));
  for (const auto& [label, array] : state.saved_statics) hash = mix_hash(hash, hash_of(array));
  return hash;
}

bool saved_values_agree(const RankState& state, Transport& transport, CollectiveTag tag) {
  const std::uint64_t mine = hash_of_saved(state);
  const auto all = transport.all_gather(std::as_bytes(std::span(&mine, 1)), tag);
  return std::ranges::all_of(all, [&](const std::vector<std::byte>& theirs) {
    return theirs.size() == sizeof mine && std::memcmp(theirs.data(), &mine, sizeof mine) == 0;
  });
}

}  // namespace sial
