#pragma once
// When and how a block is used next, as a directory entry holds it in one word: a hint that anybody may write, for
// which block leaves memory. Times are uses of blocks on the node (spill_area.h).

#include <cstdint>

#include "runtime/base/foreseen_use.h"

namespace sial {

struct NextUse {
  std::uint64_t at = 0;  // 0: nothing is foreseen
  ForeseenUse use = ForeseenUse::get;

  std::uint64_t word() const { return at << 2 | static_cast<std::uint64_t>(use); }
  static NextUse of(std::uint64_t word) { return {word >> 2, static_cast<ForeseenUse>(word & 3)}; }
};

}  // namespace sial
