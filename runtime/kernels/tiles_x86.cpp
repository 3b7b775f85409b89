// Built-in tiles for x86: compiled for AVX2 and fused arithmetic, used where the processor has them, and portable ones elsewhere.
// This file alone is built with these features: nothing in it runs before they are found.

#include <immintrin.h>

#include <array>

#include "runtime/kernels/implementations.h"
#include "runtime/kernels/tiles.h"
#include "runtime/kernels/tiles_portable.h"

namespace sial::kernels {
namespace {

constexpr int width = 4;

template <int V, bool Masked>
__attribute__((always_inline)) inline __m256d load(const double* p, int i, __m256i mask) {
  return Masked && i == V - 1 ? _mm256_maskload_pd(p + i * width, mask) : _mm256_loadu_pd(p + i * width);
}

template <int V, bool Masked>
__attribute__((always_inline)) inline void store(double* p, int i, __m256i mask, __m256d value) {
  if (Masked && i == V - 1)
    _mm256_maskstore_pd(p + i * width, mask, value);
  else
    _mm256_storeu_pd(p + i * width, value);
}

template <int V, int C, bool Masked>
void tile(const TileWork* work) {
  __m256i mask{};
  if (Masked) mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(work->rows - (V - 1) * width), _mm256_set_epi64x(3, 2, 1, 0));
  const __m256d alpha = _mm256_set1_pd(work->alpha), beta = _mm256_set1_pd(work->beta);
  const bool overwrite = work->beta == 0.0;
  const std::int64_t* const a_at = work->a_at;
  const std::int64_t* const b_at = work->b_at;
  for (std::int64_t g = 0; g < work->column_groups; ++g) {
    const std::int64_t* const b_column = work->b_column + g * C;
    const std::int64_t* const d_column = work->d_column + g * C;
    const double* column[C];
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) column[j] = work->b + g * work->b_step + b_column[j];
    const double* a_base = work->a;
    double* d_base = work->d;
    for (std::int64_t r = work->repeat; r > 0; --r, a_base += work->a_step, d_base += work->d_step) {
      __m256d sum[C][V];
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j)
#pragma GCC unroll 4
        for (int i = 0; i < V; ++i) sum[j][i] = _mm256_setzero_pd();
      for (int j = 0; j < C; ++j) _mm_prefetch(reinterpret_cast<const char*>(d_base + d_column[j]), _MM_HINT_T0);
      for (std::int64_t p = 0, n = work->count; p < n; ++p) {
        const double* a = a_base + a_at[p];
        const std::int64_t at = b_at[p];
        __m256d row[V];
#pragma GCC unroll 4
        for (int i = 0; i < V; ++i) row[i] = load<V, Masked>(a, i, mask);
#pragma GCC unroll 8
        for (int j = 0; j < C; ++j) {
          const __m256d factor = _mm256_broadcast_sd(column[j] + at);
#pragma GCC unroll 4
          for (int i = 0; i < V; ++i) sum[j][i] = _mm256_fmadd_pd(row[i], factor, sum[j][i]);
        }
      }
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) {
        double* d = d_base + d_column[j];
#pragma GCC unroll 4
        for (int i = 0; i < V; ++i) {
          const __m256d value = overwrite ? _mm256_mul_pd(alpha, sum[j][i])
                                          : _mm256_fmadd_pd(alpha, sum[j][i], _mm256_mul_pd(beta, load<V, Masked>(d, i, mask)));
          store<V, Masked>(d, i, mask, value);
        }
      }
    }
  }
}

template <bool Masked>
TileCode choose(int vectors, int columns) {
  static constexpr std::array<std::array<TileCode, 4>, 3> table{{{tile<1, 1, Masked>, tile<1, 2, Masked>, tile<1, 3, Masked>, tile<1, 4, Masked>},
                                                                {tile<2, 1, Masked>, tile<2, 2, Masked>, tile<2, 3, Masked>, tile<2, 4, Masked>},
                                                                {tile<3, 1, Masked>, tile<3, 2, Masked>, tile<3, 3, Masked>, tile<3, 4, Masked>}}};
  return table[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(columns - 1)];
}

/// Four rows of four consecutive summed positions, turned.
__attribute__((always_inline)) inline void turn(double* to, std::int64_t width_of_panel, const double* r0, const double* r1, const double* r2, const double* r3) {
  const __m256d a = _mm256_loadu_pd(r0), b = _mm256_loadu_pd(r1), c = _mm256_loadu_pd(r2), d = _mm256_loadu_pd(r3);
  const __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b), cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
  _mm256_storeu_pd(to, _mm256_permute2f128_pd(ab0, cd0, 0x20));
  _mm256_storeu_pd(to + width_of_panel, _mm256_permute2f128_pd(ab1, cd1, 0x20));
  _mm256_storeu_pd(to + 2 * width_of_panel, _mm256_permute2f128_pd(ab0, cd0, 0x31));
  _mm256_storeu_pd(to + 3 * width_of_panel, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

void pack_fast(const PackWork& w) {
  const bool along_rows = consecutive(w.row_at, w.rows);
  if (along_rows && w.rows == w.width && w.width % width == 0) {
    const double* from = w.from + w.row_at[0];
    double* to = w.to;
    for (std::int64_t p = 0; p < w.count; ++p, to += w.width)
      for (std::int64_t i = 0; i < w.width; i += width) _mm256_storeu_pd(to + i, _mm256_loadu_pd(from + w.sum_at[p] + i));
    return;
  }
  if (along_rows || w.width % width != 0) return pack_portable(w, 0, w.rows, 0, w.count);
  std::int64_t i = 0;
  for (; i + width <= w.rows; i += width) {
    const double *r0 = w.from + w.row_at[i], *r1 = w.from + w.row_at[i + 1], *r2 = w.from + w.row_at[i + 2], *r3 = w.from + w.row_at[i + 3];
    double* to = w.to + i;
    std::int64_t p = 0;
    while (p < w.count) {
      if (p + width <= w.count && consecutive(w.sum_at + p, width)) {
        const std::int64_t at = w.sum_at[p];
        turn(to + p * w.width, w.width, r0 + at, r1 + at, r2 + at, r3 + at);
        p += width;
      } else {
        const std::int64_t at = w.sum_at[p];
        double* row = to + p * w.width;
        row[0] = r0[at], row[1] = r1[at], row[2] = r2[at], row[3] = r3[at];
        ++p;
      }
    }
  }
  pack_portable(w, i, w.rows, 0, w.count);
}

void scatter_fast(const ScatterWork& w) {
  for (std::int64_t j = 0; j < w.columns; ++j) {
    double* d = w.d + w.d_column[j];
    const double* sum = w.sum + j * w.width;
    if (w.beta == 0.0)
      for (std::int64_t i = 0; i < w.rows; ++i) d[w.d_row[i]] = w.alpha * sum[i];
    else
      for (std::int64_t i = 0; i < w.rows; ++i) d[w.d_row[i]] = __builtin_fma(w.alpha, sum[i], w.beta * d[w.d_row[i]]);
  }
}

}  // namespace

TileKit builtin_tiles(const CpuFacts& facts) {
  if (!facts.fma) return portable_tiles();
  TileKit kit{{width, 3, 4}, true, {}, pack_fast, scatter_fast};
  for (int v = 1; v <= 3; ++v)
    for (int c = 1; c <= 4; ++c)
      for (int masked = 0; masked < 2; ++masked) kit.tile(v, c, masked != 0) = masked ? choose<true>(v, c) : choose<false>(v, c);
  return kit;
}

}  // namespace sial::kernels
