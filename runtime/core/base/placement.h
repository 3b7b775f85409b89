#pragma once
// The placement of blocks: a hash of array and segments names one of the home nodes. A rule of its own, since
// predictions follow it too.

#include <cstddef>
#include <cstdint>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"

namespace sial {

std::uint64_t block_hash(const BlockIndex& b);

/// The number under which an array of the job's n-th program is placed.
inline std::uint64_t placement_number(std::int32_t program, ArrayId array) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(program)) << 32 |
         static_cast<std::uint32_t>(array.number());
}

/// The home node of a block, of `homes`; `placement` is the number its array had when it was first written.
std::size_t home_of_block(std::uint64_t placement, const BlockIndex& block, std::size_t homes);

}  // namespace sial
