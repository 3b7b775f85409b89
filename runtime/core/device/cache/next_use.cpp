#include "runtime/core/device/cache/next_use.h"

#include "runtime/core/base/shape.h"

namespace sial {
namespace {

constexpr std::size_t places_for_blocks = std::size_t{1} << 16;
constexpr double unknown = 1e6;  // further away than what is known to return
constexpr double weight_of_last = 0.2, weight_of_end = 0.1;
constexpr double taken_for_ended = 0.9;  // share of blocks alike that were not used again

}  // namespace

DeviceNextUse::DeviceNextUse() : seen_(places_for_blocks) {}

std::uint64_t DeviceNextUse::key(std::int32_t place, ArrayId array, const void* address) {
  return mix_hash(key(place, array), reinterpret_cast<std::uintptr_t>(address)) | 1;
}

double DeviceNextUse::expect(std::int32_t place, ArrayId array, const void* address) const {
  const std::uint64_t k = key(place, array, address);
  if (const Seen& s = seen_[k % places_for_blocks]; s.key == k) return s.operations;
  const auto found = alike_.find(key(place, array));
  if (found == alike_.end()) return unknown;
  if (found->second.ended > taken_for_ended) return never;
  return found->second.operations < 0.0 ? unknown : found->second.operations;
}

void DeviceNextUse::used_again(std::int32_t place, ArrayId array, const void* address, double operations) {
  const std::uint64_t k = key(place, array, address);
  seen_[k % places_for_blocks] = {k, static_cast<float>(operations)};
  Alike& a = alike_[key(place, array)];
  a.operations = a.operations < 0.0 ? operations : a.operations + weight_of_last * (operations - a.operations);
  a.ended *= 1.0 - weight_of_end;
}

void DeviceNextUse::not_used_again(std::int32_t place, ArrayId array, const void* address) {
  const std::uint64_t k = key(place, array, address);
  if (Seen& s = seen_[k % places_for_blocks]; s.key == k) s = {};
  Alike& a = alike_[key(place, array)];
  a.ended += weight_of_end * (1.0 - a.ended);
}

}  // namespace sial
