#include "runtime/core/kernels/contraction/tiles_portable.h"

#include <algorithm>
#include <array>

namespace sial::kernels {
namespace {

constexpr int width = 4;  // rows that the compiler may put into vectors

template <int V, int C>
void one_tile(const TileWork& work, const double* a_base, const double* b_base, const std::int64_t* b_column,
              double* d_base, const std::int64_t* d_column) {
  constexpr int most = V * width;
  double sum[C][most] = {};
  const auto rows = static_cast<int>(work.rows < most ? work.rows : most);
  for (std::int64_t p = 0; p < work.count; ++p) {
    const double* a = a_base + work.a_at[p];
    for (int j = 0; j < C; ++j) {
      const double factor = b_base[work.b_at[p] + b_column[j]];
      if (rows == most)
        for (int i = 0; i < most; ++i) sum[j][i] += a[i] * factor;
      else
        for (int i = 0; i < rows; ++i) sum[j][i] += a[i] * factor;
    }
  }
  for (int j = 0; j < C; ++j) {
    double* d = d_base + d_column[j];
    for (int i = 0; i < rows; ++i) {
      const double value = work.alpha * sum[j][i];
      d[i] = work.beta == 0.0 ? value : value + work.beta * d[i];
    }
  }
}

template <int V, int C>
void tile(const TileWork* work) {
  for (std::int64_t g = 0; g < work->column_groups; ++g)
    for (std::int64_t s = 0; s < work->runs; ++s)
      for (std::int64_t r = 0; r < work->repeat; ++r)
        one_tile<V, C>(*work, work->a + s * work->a_run + r * work->a_step, work->b + g * work->b_step,
                       work->b_column + g * C, work->d + s * work->d_run + r * work->d_step, work->d_column + g * C);
}

void pack_all(const PackWork& w) { pack_portable(w, 0, w.rows, 0, w.count); }

void scatter(const ScatterWork& w) {
  for (std::int64_t j = 0; j < w.columns; ++j)
    for (std::int64_t i = 0; i < w.rows; ++i) {
      double& d = w.d[(w.d_row ? w.d_row[i] : i) + w.d_column[j]];
      const double value = w.alpha * w.sum[j * w.width + i];
      d = w.beta == 0.0 ? value : value + w.beta * d;
    }
}

void outer(const OuterWork& w) {
  for (std::int64_t k = 0; k < w.outer.count; ++k)
    for (std::int64_t j = 0; j < w.inner.count; ++j) {
      double* __restrict d = w.d + k * w.outer.d + j * w.inner.d;
      const double* __restrict x = w.x + k * w.outer.x + j * w.inner.x;
      const double factor = w.y[k * w.outer.y + j * w.inner.y];
      if (w.beta == 0.0)
        for (std::int64_t i = 0; i < w.rows; ++i) d[i] = w.alpha * (0.0 + x[i] * factor);
      else
        for (std::int64_t i = 0; i < w.rows; ++i) d[i] = w.alpha * (0.0 + x[i] * factor) + w.beta * d[i];
    }
}

void vector(const VectorWork& w) {
  if (w.rows > 0) {
    double* __restrict sum = w.sum;
    if (w.fresh) std::fill_n(sum, w.rows, 0.0);
    for (std::int64_t p = 0; p < w.count; ++p) {
      const double* __restrict x = w.x + w.at[p];
      const double factor = w.y[p];
      for (std::int64_t i = 0; i < w.rows; ++i) sum[i] += x[i] * factor;
    }
    return;
  }
  for (std::int64_t v = 0; v < w.fours; ++v) {
    double sum[4] = {};
    if (!w.fresh)
      for (int i = 0; i < 4; ++i) sum[i] = w.sum[4 * v + i];
    const double* const rows = w.x + w.row_at[v];
    for (std::int64_t p = 0; p < w.count; ++p)
      for (int i = 0; i < 4; ++i) sum[i] += rows[w.at[p] + i] * w.y[p];
    for (int i = 0; i < 4; ++i) w.sum[4 * v + i] = sum[i];
  }
}

template <int V, int C>
void add_tile(TileKernels& table) {
  table.tile(V, C, false) = table.tile(V, C, true) = tile<V, C>;
}

}  // namespace

void pack_portable(const PackWork& w, std::int64_t first_row, std::int64_t last_row, std::int64_t first,
                   std::int64_t last) {
  for (std::int64_t p = first; p < last; ++p) {
    const double* from = w.from + w.sum_at[p];
    double* to = w.to + p * w.width;
    for (std::int64_t i = first_row; i < last_row; ++i) to[i] = from[w.row_at[i]];
    for (std::int64_t i = w.rows; i < w.width; ++i) to[i] = 0.0;
  }
}

TileKernels portable_tiles() {
  TileKernels table{{width, 2, 4}, false, {}, pack_all, scatter, outer, vector};
  add_tile<1, 1>(table), add_tile<1, 2>(table), add_tile<1, 3>(table), add_tile<1, 4>(table);
  add_tile<2, 1>(table), add_tile<2, 2>(table), add_tile<2, 3>(table), add_tile<2, 4>(table);
  return table;
}

double inner_portable(const double* x, const double* y, std::int64_t n) {
  std::array<double, inner_sums> sums{};
  std::int64_t i = 0;
  for (; i + inner_sums <= n; i += inner_sums)
    for (std::int64_t k = 0; k < inner_sums; ++k) sums[static_cast<std::size_t>(k)] += x[i + k] * y[i + k];
  for (double* sum = sums.data(); i < n; ++i, ++sum) *sum += x[i] * y[i];
  for (std::size_t half = inner_sums / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

}  // namespace sial::kernels
