#include "runtime/interp/view_ops.h"

#include <cstring>

namespace sial {
namespace {

/// Walks `v` in index order, calling f with the offset of each element in `v`, `w` and `x` (same extents).
template <class F>
void walk3(const MutableView& v, const ConstView& w, const ConstView& x, F&& f) {
  if (view_size(v) == 0) return;
  std::array<std::int64_t, max_rank> at{};
  std::int64_t ov = 0, ow = 0, ox = 0;
  for (;;) {
    f(ov, ow, ox);
    int d = 0;
    for (; d < v.rank; ++d) {
      ov += v.stride[d];
      ow += w.stride[d];
      ox += x.stride[d];
      if (++at[d] < v.extent[d]) break;
      ov -= v.stride[d] * v.extent[d];
      ow -= w.stride[d] * v.extent[d];
      ox -= x.stride[d] * v.extent[d];
      at[d] = 0;
    }
    if (d >= v.rank) return;
  }
}

}  // namespace

void fill_view(const MutableView& v, double value) {
  for_each_run(v, [&](std::int64_t o, std::int64_t n, std::int64_t s) {
    for (std::int64_t i = 0; i < n; ++i) v.data[o + i * s] = value;
  });
}

void add_to_view(const MutableView& v, double value) {
  for_each_run(v, [&](std::int64_t o, std::int64_t n, std::int64_t s) {
    for (std::int64_t i = 0; i < n; ++i) v.data[o + i * s] += value;
  });
}

void scale_view(const MutableView& v, double factor) {
  for_each_run(v, [&](std::int64_t o, std::int64_t n, std::int64_t s) {
    for (std::int64_t i = 0; i < n; ++i) v.data[o + i * s] *= factor;
  });
}

void copy_view(const MutableView& to, const ConstView& from) {
  if (is_dense(to) && is_dense(from)) {
    std::memmove(to.data, from.data, static_cast<std::size_t>(view_size(to)) * sizeof(double));
    return;
  }
  walk3(to, from, from, [&](std::int64_t o, std::int64_t a, std::int64_t) { to.data[o] = from.data[a]; });
}

void sum_views(const MutableView& to, const ConstView& a, const ConstView& b, double sign) {
  if (is_dense(to) && is_dense(a) && is_dense(b)) {
    const std::int64_t n = view_size(to);
    for (std::int64_t i = 0; i < n; ++i) to.data[i] = a.data[i] + sign * b.data[i];
    return;
  }
  walk3(to, a, b, [&](std::int64_t o, std::int64_t i, std::int64_t j) { to.data[o] = a.data[i] + sign * b.data[j]; });
}

}  // namespace sial
