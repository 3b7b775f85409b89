#pragma once
// When labels in some order make an operand a matrix that BLAS can take as it lies. Shared by the baselines; no memory,
// no state.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tests/bench/kernels/baselines.h"

namespace bench {

struct Matrix {
  bool usable = false;
  bool transposed = false;  // stored row by row
  std::int64_t ld = 1;
};

struct Layout {
  Dims rows, columns, summed;
  Matrix d, a, b;
};

Matrix as_matrix(const Dims& rows, const Dims& columns, Stride s);

/// What BLAS is asked for; a layout whose D lies row by row asks for the transposed product (operands swapped).
Product product_of(const Layout& layout, std::int64_t m, std::int64_t n, std::int64_t k);

Dims ordered(Dims group, Stride s);

/// Calls f(layout) for every combination of orders that some operand already has.
template <class F>
void for_each_order(const Dims& rows, const Dims& columns, const Dims& summed, F&& f) {
  for (const Stride row : {&Dim::d, &Dim::a})
    for (const Stride column : {&Dim::d, &Dim::b})
      for (const Stride sum : {&Dim::a, &Dim::b}) {
        Layout l{ordered(rows, row), ordered(columns, column), ordered(summed, sum), {}, {}, {}};
        l.d = as_matrix(l.rows, l.columns, &Dim::d);
        l.a = as_matrix(l.rows, l.summed, &Dim::a);
        l.b = as_matrix(l.summed, l.columns, &Dim::b);
        f(l);
      }
}

/// f(offsets) for every position of dims {extent, stride, stride}, the first dimension fastest.
template <class F>
void each_position(const std::vector<std::array<std::int64_t, 3>>& dims, F&& f) {
  std::vector<std::int64_t> at(dims.size(), 0);
  std::array<std::int64_t, 2> offset{};
  for (;;) {
    f(offset);
    std::size_t i = 0;
    for (; i < dims.size(); ++i) {
      offset[0] += dims[i][1], offset[1] += dims[i][2];
      if (++at[i] < dims[i][0]) break;
      offset[0] -= dims[i][1] * dims[i][0], offset[1] -= dims[i][2] * dims[i][0];
      at[i] = 0;
    }
    if (i == dims.size()) return;
  }
}

}  // namespace bench
