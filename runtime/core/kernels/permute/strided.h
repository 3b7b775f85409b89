#pragma once
// Element-wise work on a pair of strided operands of equal extents: (permuted) copy, scale, accumulate, and inner
// product. Dimensions are fused where both operands allow it and walked in square tiles where the two disagree about
// which one is contiguous, so that neither side is read or written one cache line per element.

#include <cstdint>
#include <vector>

#include "runtime/core/kernels/interface/plain.h"

namespace sial::kernels {

/// Doubles in a cache line.
inline constexpr std::int64_t cache_line = 8;

/// Doubles in half a page: lines a multiple of it apart share two places in a first-level cache at most.
inline constexpr std::int64_t half_page = 256;

/// Whether a cache line begins there.
inline bool begins_line(const double* p) {
  return reinterpret_cast<std::uintptr_t>(p) % (cache_line * sizeof(double)) == 0;
}

/// The distance of pieces of so many doubles in a buffer: an odd number of lines, lest their lines want the same places
/// in a cache; short ones lie close.
inline std::int64_t pieces_apart(std::int64_t size) {
  constexpr std::int64_t shortest_padded = 64;
  return size < shortest_padded ? size : ((size + cache_line - 1) / cache_line | 1) * cache_line;
}

/// One dimension of the pair: x is the operand written (or the first factor), y the one read.
struct PairDim {
  std::int64_t extent = 1;
  std::int64_t x = 0, y = 0;
};

/// Drops dimensions of extent 1, orders the rest by x's stride and merges neighbours that are contiguous in both
/// operands. False when there is no position at all.
bool fuse(std::vector<PairDim>& dims);

/// x = alpha * y + beta * x at every position; beta = 0 does not read x.
void combine(double* x, const double* y, std::vector<PairDim> dims, double alpha, double beta);

/// The sum of x * y over every position of dimensions as fuse() leaves them where there are positions.
double inner_product(const double* x, const double* y, const std::vector<PairDim>& fused);

}  // namespace sial::kernels
