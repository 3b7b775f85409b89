#pragma once
// When and how a block is used next, as a directory entry holds it in one word: a hint that anybody may write, for
// which block leaves memory. Times are uses of blocks on the node (spill_area.h).

#include <algorithm>
#include <cstdint>

#include "runtime/core/base/foreseen_use.h"

namespace sial {

struct NextUse {
  std::uint64_t at = 0;  // 0: nothing is foreseen
  ForeseenUse use = ForeseenUse::get;

  std::uint64_t word() const { return at << 2 | static_cast<std::uint64_t>(use); }
  static NextUse of(std::uint64_t word) { return {word >> 2, static_cast<ForeseenUse>(word & 3)}; }
};

/// The distance between the uses of a block where its loops come again, in 16 bits: of late the longest time between
/// two of them, so that what is used several times in each iteration is expected in time.
class UseInterval {
 public:
  /// With one more use, `gap` after the last one.
  static std::uint16_t with(std::uint16_t interval, std::uint64_t gap) {
    const std::uint64_t units = std::min<std::uint64_t>((gap + unit - 1) / unit, 65535);
    return static_cast<std::uint16_t>(std::max<std::uint64_t>(units, interval - interval / 4));
  }
  static std::uint64_t uses(std::uint16_t interval) { return interval * unit; }

 private:
  static constexpr std::uint64_t unit = 256;
};

}  // namespace sial
