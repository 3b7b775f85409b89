#pragma once
// Element loops over block views that need no labels: fill, add, scale, element-wise sum, packing. Views may be strided
// (parts of static arrays, regions, sub-boxes) and are walked in the order in which they lie in memory. Plain
// functions; the caller owns everything.

#include <algorithm>
#include <cstdint>

#include "runtime/core/kernels/interface/block_op.h"

namespace sial {

template <class T>
std::int64_t view_size(const BlockView<T>& v) {
  std::int64_t n = 1;
  for (int d = 0; d < v.rank; ++d) n *= v.extent[d];
  return n;
}

/// True when the elements lie in memory as a dense column-major block.
template <class T>
bool is_dense(const BlockView<T>& v) {
  std::int64_t s = 1;
  for (int d = 0; d < v.rank; ++d) {
    if (v.extent[d] != 1 && v.stride[d] != s) return false;
    s *= v.extent[d];
  }
  return true;
}

/// Whether the memory spans of two views touch (conservative: interleaved slices count as touching).
template <class A, class B>
bool may_overlap(const BlockView<A>& a, const BlockView<B>& b) {
  std::int64_t last_a = 0, last_b = 0;
  for (int d = 0; d < a.rank; ++d) {
    if (a.extent[d] == 0) return false;
    last_a += (a.extent[d] - 1) * a.stride[d];
  }
  for (int d = 0; d < b.rank; ++d) {
    if (b.extent[d] == 0) return false;
    last_b += (b.extent[d] - 1) * b.stride[d];
  }
  const double* pa = a.data;
  const double* pb = b.data;
  return pa <= pb + last_b && pb <= pa + last_a;
}

void fill_view(const MutableView& v, double value);
void add_to_view(const MutableView& v, double value);
void scale_view(const MutableView& v, double factor);
/// Same extents, element by element in index order; views may be identical but not partially overlapping.
void copy_view(const MutableView& to, const ConstView& from);
void sum_views(const MutableView& to, const ConstView& a, const ConstView& b, double sign);

/// A dense column-major view of `data` with the extents and labels of `view`.
inline MutableView dense_like(double* data, const ConstView& view) {
  Shape shape;
  shape.rank = view.rank;
  shape.extent = view.extent;
  return dense_view(data, shape, view.label);
}

}  // namespace sial
