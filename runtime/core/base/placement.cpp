#include "runtime/core/base/placement.h"

namespace sial {

static_assert(max_rank == 8, "block_hash takes four pairs of segments");

std::uint64_t block_hash(const BlockIndex& b) {
  const auto pair = [&b](int d) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(b.segment[d])) |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(b.segment[d + 1])) << 32;
  };
  std::uint64_t h = mix_hash(static_cast<std::uint32_t>(b.rank), pair(0));
  if (b.rank > 2) h = mix_hash(h, pair(2));
  if (b.rank > 4) h = mix_hash(h, pair(4));
  if (b.rank > 6) h = mix_hash(h, pair(6));
  return h;
}

std::size_t home_of_block(std::uint64_t placement, const BlockIndex& block, std::size_t homes) {
  return homes == 1 ? 0 : (mix_hash(block_hash(block), placement) >> 20) % homes;
}

}  // namespace sial
