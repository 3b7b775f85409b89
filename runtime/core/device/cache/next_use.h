#pragma once
// When a block will be used on a device again, as far as the past tells: what is used furthest from now leaves first
// when memory is wanted (L. A. Belady, IBM Syst. J. 5 (1966) 78, whose rule needs the future). SIAL programs repeat
// themselves: the same block comes back at the same statement about as many operations later as it did the last time,
// and blocks of one array at one statement behave alike. Time is counted in operations. Memory is bounded. Owned and
// used by one thread.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/core/base/ids.h"

namespace sial {

class DeviceNextUse {
 public:
  static constexpr double never = 1e18;

  DeviceNextUse();
  /// Operations until the block at `address` is used again after a use at `place`.
  double expect(std::int32_t place, ArrayId array, const void* address) const;
  /// It was, after `operations`.
  void used_again(std::int32_t place, ArrayId array, const void* address, double operations);
  /// It was not: it ended, or was replaced.
  void not_used_again(std::int32_t place, ArrayId array, const void* address);

 private:
  /// Running means of an array's blocks at a statement.
  struct Alike {
    double operations = -1.0, ended = 0.0;
  };
  struct Seen {
    std::uint64_t key = 0;
    float operations = 0.0F;
  };
  static std::uint64_t key(std::int32_t place, ArrayId array, const void* address);
  static std::uint64_t key(std::int32_t place, ArrayId array) {
    return std::uint64_t(std::uint32_t(place)) << 32 | std::uint32_t(array.number());
  }

  std::vector<Seen> seen_;  // by hash; later blocks push out earlier ones
  std::unordered_map<std::uint64_t, Alike> alike_;
};

}  // namespace sial
