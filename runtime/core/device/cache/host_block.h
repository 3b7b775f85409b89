#pragma once
// A block in the host's memory: part of a larger array, or by itself. A value that owns nothing.

#include <array>
#include <cstdint>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/kernels/interface/block_op.h"

namespace sial {

/// `buffer`: the start of the buffer it lies in.
struct HostBlock {
  ArrayId array;  // whose block it is, for the statistics
  const double* buffer = nullptr;
  std::int64_t buffer_size = 0;
  double* data = nullptr;
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{}, stride{};
  bool fetched = false;  // a remote block as it was got: what it holds may be what a device has had before
  std::int64_t size() const;
  bool dense() const;
  MutableView view() const;
};

/// `n` elements in a row, of nothing but their memory.
HostBlock dense_block(double* data, std::int64_t n);

/// f(element of the host's block, number in dense order)
template <class F>
void for_each_element(const HostBlock& b, F&& f) {
  const std::int64_t n = b.size();
  std::array<std::int64_t, max_rank> at{};
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    f(b.data[offset], i);
    for (int d = 0; d < b.rank; ++d) {
      offset += b.stride[d];
      if (++at[d] < b.extent[d]) break;
      offset -= b.stride[d] * b.extent[d];
      at[d] = 0;
    }
  }
}

std::uint64_t hash_values(const HostBlock& block);

}  // namespace sial
