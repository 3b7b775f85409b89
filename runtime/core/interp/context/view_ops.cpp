#include "runtime/core/interp/context/view_ops.h"

#include <cstring>
#include <vector>

#include "runtime/core/kernels/permute/strided.h"

namespace sial {
namespace {

/// A dimension of up to three views of equal extents.
template <int N>
struct Side {
  std::int64_t extent = 1;
  std::array<std::int64_t, N> stride{};
};

/// Calls f(offsets, count, strides) for runs that cover every element once: in the order of the first view's memory,
/// dimensions that go on without a gap in all views made one.
template <int N, class F>
void in_memory_order(std::int32_t rank, const std::array<std::int64_t, max_rank>& extent,
                     const std::array<const std::int64_t*, N>& strides, F&& f) {
  std::array<Side<N>, max_rank> sides{};
  int n = 0;
  for (int d = 0; d < rank; ++d) {
    if (extent[d] == 0) return;
    if (extent[d] == 1) continue;
    Side<N> side{extent[d], {}};
    for (int k = 0; k < N; ++k) side.stride[k] = strides[k][d];
    int at = n++;
    for (; at > 0 && sides[at - 1].stride[0] > side.stride[0]; --at) sides[at] = sides[at - 1];
    sides[at] = side;
  }
  int kept = n > 0 ? 1 : 0;
  for (int d = 1; d < n; ++d) {
    Side<N>& last = sides[kept - 1];
    bool goes_on = true;
    for (int k = 0; k < N; ++k) goes_on &= sides[d].stride[k] == last.stride[k] * last.extent;
    if (goes_on) last.extent *= sides[d].extent;
    else sides[kept++] = sides[d];
  }
  std::array<std::int64_t, N> offset{};
  std::array<std::int64_t, max_rank> at{};
  for (;;) {
    f(offset, sides[0].extent, sides[0].stride);
    int d = 1;
    for (; d < kept; ++d) {
      for (int k = 0; k < N; ++k) offset[k] += sides[d].stride[k];
      if (++at[d] < sides[d].extent) break;
      for (int k = 0; k < N; ++k) offset[k] -= sides[d].stride[k] * sides[d].extent;
      at[d] = 0;
    }
    if (d >= kept) return;
  }
}

/// f(element) for every element; consecutive ones have a loop of their own, which the compiler vectorises.
template <class F>
void each_element(const MutableView& v, F f) {
  in_memory_order<1>(v.rank, v.extent, {v.stride.data()}, [&](const auto& offset, std::int64_t n, const auto& stride) {
    double* const x = v.data + offset[0];
    if (stride[0] == 1)
      for (std::int64_t i = 0; i < n; ++i) f(x[i]);
    else
      for (std::int64_t i = 0; i < n; ++i) f(x[i * stride[0]]);
  });
}

}  // namespace

void fill_view(const MutableView& v, double value) {
  each_element(v, [=](double& x) { x = value; });
}

void add_to_view(const MutableView& v, double value) {
  each_element(v, [=](double& x) { x += value; });
}

void scale_view(const MutableView& v, double factor) {
  each_element(v, [=](double& x) { x *= factor; });
}

void copy_view(const MutableView& to, const ConstView& from) {
  if (is_dense(to) && is_dense(from)) {
    if (view_size(to) > 0) std::memmove(to.data, from.data, static_cast<std::size_t>(view_size(to)) * sizeof(double));
    return;
  }
  std::vector<kernels::PairDim> dims;
  for (int d = 0; d < to.rank; ++d) dims.push_back({to.extent[d], to.stride[d], from.stride[d]});
  kernels::combine(to.data, from.data, std::move(dims), 1.0, 0.0);
}

void sum_views(const MutableView& to, const ConstView& a, const ConstView& b, double sign) {
  if (is_dense(to) && is_dense(a) && is_dense(b)) {
    const std::int64_t n = view_size(to);
    for (std::int64_t i = 0; i < n; ++i) to.data[i] = a.data[i] + sign * b.data[i];
    return;
  }
  in_memory_order<3>(to.rank, to.extent, {to.stride.data(), a.stride.data(), b.stride.data()},
                     [&](const auto& offset, std::int64_t n, const auto& stride) {
                       double* const x = to.data + offset[0];
                       const double* const y = a.data + offset[1];
                       const double* const z = b.data + offset[2];
                       if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1)
                         for (std::int64_t i = 0; i < n; ++i) x[i] = y[i] + sign * z[i];
                       else
                         for (std::int64_t i = 0; i < n; ++i)
                           x[i * stride[0]] = y[i * stride[1]] + sign * z[i * stride[2]];
                     });
}

}  // namespace sial
