#pragma once
// Element loops over block views that need no labels: fill, add, scale, element-wise sum, packing. Views may be strided
// (parts of static arrays, regions, sub-boxes). Plain functions; the caller owns everything.

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/block_op.h"

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

/// Calls f(offset of the first element, count, stride) for every run along the first dimension. Offsets are those of `v`.
template <class T, class F>
void for_each_run(const BlockView<T>& v, F&& f) {
  if (is_dense(v)) {
    const std::int64_t n = view_size(v);
    if (n > 0) f(std::int64_t{0}, n, std::int64_t{1});
    return;
  }
  const std::int64_t n = v.rank ? v.extent[0] : 1, s = v.rank ? v.stride[0] : 1;
  if (view_size(v) == 0) return;
  std::array<std::int64_t, max_rank> at{};
  std::int64_t offset = 0;
  for (;;) {
    f(offset, n, s);
    int d = 1;
    for (; d < v.rank; ++d) {
      offset += v.stride[d];
      if (++at[d] < v.extent[d]) break;
      offset -= v.stride[d] * v.extent[d];
      at[d] = 0;
    }
    if (d >= v.rank) return;
  }
}

void fill_view(const MutableView& v, double value);
void add_to_view(const MutableView& v, double value);
void scale_view(const MutableView& v, double factor);
/// Same extents, element by element in index order; views may be identical but not partially overlapping.
void copy_view(const MutableView& to, const ConstView& from);
void sum_views(const MutableView& to, const ConstView& a, const ConstView& b, double sign);

inline ConstView as_const(const MutableView& v) {
  ConstView c;
  c.data = v.data;
  c.rank = v.rank;
  c.extent = v.extent;
  c.stride = v.stride;
  c.label = v.label;
  return c;
}

/// A dense column-major view of `data` with the extents and labels of `view`.
inline MutableView dense_like(double* data, const ConstView& view) {
  Shape shape;
  shape.rank = view.rank;
  shape.extent = view.extent;
  return dense_view(data, shape, view.label);
}

}  // namespace sial
