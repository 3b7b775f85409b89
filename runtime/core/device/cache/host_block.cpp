#include "runtime/core/device/cache/host_block.h"

#include <algorithm>
#include <bit>

namespace sial {

std::int64_t HostBlock::size() const {
  std::int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= extent[d];
  return n;
}

bool HostBlock::dense() const {
  std::int64_t s = 1;
  for (int d = 0; d < rank; ++d) {
    if (extent[d] != 1 && stride[d] != s) return false;
    s *= extent[d];
  }
  return true;
}

MutableView HostBlock::view() const {
  MutableView v;
  v.data = data;
  v.rank = rank;
  std::copy_n(extent.begin(), rank, v.extent.begin());
  v.stride = stride;
  return v;
}

HostBlock dense_block(double* data, std::int64_t n) {
  HostBlock b;
  b.data = data;
  b.rank = 1;
  b.extent[0] = n;
  b.stride[0] = 1;
  return b;
}

std::uint64_t hash_values(const HostBlock& block) {
  std::uint64_t h = mix_hash(0x51a1, static_cast<std::uint64_t>(block.size()));
  for_each_element(block, [&](const double& x, std::int64_t) { h = mix_hash(h, std::bit_cast<std::uint64_t>(x)); });
  return h;
}

}  // namespace sial
