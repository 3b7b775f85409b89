#pragma once
// Random numbers and layouts of blocks for the suites of chains and of generated GPU kernels.

#include <array>
#include <cstdint>
#include <random>
#include <span>

#include "runtime/core/kernels/interface/block_op.h"

namespace sial::kernels {

using Extents = std::array<std::int64_t, max_rank>;

class Numbers {
 public:
  /// `odd`: what one number in eight is, if there are any.
  explicit Numbers(std::uint32_t seed, std::span<const double> odd = {}) : random_(seed), odd_(odd) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  double operator()() {
    if (!odd_.empty() && below(8) == 0) return odd_[static_cast<std::size_t>(below(std::ssize(odd_)))];
    return std::uniform_real_distribution<double>(-2.0, 2.0)(random_);
  }

 private:
  std::mt19937 random_;
  std::span<const double> odd_;
};

/// Makes `view` that of a block whose k-th dimension is named order[k], dense or, with margins, a part of a larger
/// array. How many elements that has.
inline std::int64_t lay_out(MutableView& view, int rank, const Extents& extent, const std::array<int, max_rank>& order,
                            const Extents& margin) {
  view.rank = rank;
  std::int64_t stride = 1;
  for (int d = 0; d < rank; ++d) {
    view.label[d] = order[d];
    view.extent[d] = extent[order[d]];
    view.stride[d] = stride;
    stride *= view.extent[d] + margin[d];
  }
  return stride;
}

}  // namespace sial::kernels
