// Built-in tiles for x86: compiled for AVX2 and fused arithmetic, used where the processor has them (tiles_avx512.cpp
// has wider ones), and portable ones elsewhere. This file alone is built with these features: nothing in it runs before
// they are found.

#include <immintrin.h>

#include <algorithm>
#include <array>

#include "runtime/core/kernels/contraction/pack_vectors.h"
#include "runtime/core/kernels/contraction/tiles_portable.h"
#include "runtime/core/kernels/contraction/tiles_vectors.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"
#include "runtime/core/kernels/permute/transpose_avx2.h"

namespace sial::kernels {
namespace {

constexpr int width = 4;

struct Avx2 {
  using Vector = __m256d;
  using Mask = __m256i;
  static constexpr int width = 4;
  __attribute__((always_inline)) static Vector zero() { return _mm256_setzero_pd(); }
  __attribute__((always_inline)) static Vector all(double x) { return _mm256_set1_pd(x); }
  __attribute__((always_inline)) static Vector load(const double* p) { return _mm256_loadu_pd(p); }
  __attribute__((always_inline)) static Vector load(const double* p, Mask mask) { return _mm256_maskload_pd(p, mask); }
  __attribute__((always_inline)) static void store(double* p, Vector x) { _mm256_storeu_pd(p, x); }
  __attribute__((always_inline)) static void store(double* p, Mask mask, Vector x) { _mm256_maskstore_pd(p, mask, x); }
  __attribute__((always_inline)) static void stream(double* p, Vector x) { _mm256_stream_pd(p, x); }
  __attribute__((always_inline)) static Vector sum(Vector x, Vector y) { return _mm256_add_pd(x, y); }
  __attribute__((always_inline)) static Vector product(Vector x, Vector y) { return _mm256_mul_pd(x, y); }
  __attribute__((always_inline)) static Vector fused(Vector x, Vector y, Vector z) { return _mm256_fmadd_pd(x, y, z); }
  /// Adds halves, then their halves.
  __attribute__((always_inline)) static double total(Vector x) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  __attribute__((always_inline)) static void store_first(double* p, Vector x, std::int64_t lanes) {
    // Many processors take a dozen cycles for a store through a mask of this kind.
    if (lanes >= 2) _mm_storeu_pd(p, _mm256_castpd256_pd128(x));
    if (lanes == 1) _mm_store_sd(p, _mm256_castpd256_pd128(x));
    if (lanes == 3) _mm_store_sd(p + 2, _mm256_extractf128_pd(x, 1));
  }
  __attribute__((always_inline)) static bool consecutive(const std::int64_t* at) {
    const __m256i expected = _mm256_add_epi64(_mm256_set1_epi64x(at[0]), _mm256_set_epi64x(3, 2, 1, 0));
    return _mm256_movemask_pd(_mm256_castsi256_pd(
               _mm256_cmpeq_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), expected))) == 0xf;
  }
  /// v[i][j] and v[j][i] exchanged.
  __attribute__((always_inline)) static void turn(Vector (&v)[4]) { transpose_square(v); }
  /// Lanes before this one.
  __attribute__((always_inline)) static Mask first(std::int64_t lanes) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_set_epi64x(3, 2, 1, 0));
  }
};

void finish_rows(double* d, const double* sum, std::int64_t rows, double alpha, double beta) {
  const __m256d a = _mm256_set1_pd(alpha), b = _mm256_set1_pd(beta);
  std::int64_t i = 0;
  for (; i + width <= rows; i += width) {
    const __m256d value = _mm256_loadu_pd(sum + i);
    _mm256_storeu_pd(d + i, beta == 0.0 ? _mm256_mul_pd(a, value)
                                        : _mm256_fmadd_pd(a, value, _mm256_mul_pd(b, _mm256_loadu_pd(d + i))));
  }
  for (; i < rows; ++i) d[i] = beta == 0.0 ? alpha * sum[i] : __builtin_fma(alpha, sum[i], beta * d[i]);
}

void scatter_fast(const ScatterWork& w) {
  for (std::int64_t j = 0; j < w.columns; ++j) {
    double* d = w.d + w.d_column[j];
    const double* sum = w.sum + j * w.width;
    if (!w.d_row) finish_rows(d, sum, w.rows, w.alpha, w.beta);
    else if (w.beta == 0.0)
      for (std::int64_t i = 0; i < w.rows; ++i) d[w.d_row[i]] = w.alpha * sum[i];
    else
      for (std::int64_t i = 0; i < w.rows; ++i) d[w.d_row[i]] = __builtin_fma(w.alpha, sum[i], w.beta * d[w.d_row[i]]);
  }
}

/// Fours of rows from anywhere, their sums in registers.
template <int V>
void vector_rows(const VectorWork& w, std::int64_t first) {
  const double* row[V];
  __m256d sum[V];
  double* const sums = w.sum + first * width;
#pragma GCC unroll 8
  for (int i = 0; i < V; ++i) {
    row[i] = w.x + w.row_at[first + i];
    sum[i] = w.fresh ? _mm256_setzero_pd() : _mm256_loadu_pd(sums + i * width);
  }
  const std::int64_t* const at = w.at;
  const double* const y = w.y;
  for (std::int64_t p = 0, n = w.count; p < n; ++p) {
    const __m256d factor = _mm256_broadcast_sd(y + p);
    const std::int64_t o = at[p];
#pragma GCC unroll 8
    for (int i = 0; i < V; ++i) sum[i] = _mm256_fmadd_pd(_mm256_loadu_pd(row[i] + o), factor, sum[i]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < V; ++i) _mm256_storeu_pd(sums + i * width, sum[i]);
}

}  // namespace

void outer_avx2(const OuterWork& work) { outer_strips<Avx2>(work); }

void vector_avx2(const VectorWork& w) {
  if (w.rows > 0) return vector_of_columns<Avx2>(w);
  std::int64_t i = 0;
  for (; i + 8 <= w.fours; i += 8) vector_rows<8>(w, i);
  switch (w.fours - i) {
    case 7: return vector_rows<7>(w, i);
    case 6: return vector_rows<6>(w, i);
    case 5: return vector_rows<5>(w, i);
    case 4: return vector_rows<4>(w, i);
    case 3: return vector_rows<3>(w, i);
    case 2: return vector_rows<2>(w, i);
    case 1: return vector_rows<1>(w, i);
    default: return;
  }
}

InnerCode builtin_inner(const CpuFacts& facts) {
  return !facts.fma ? inner_portable : facts.vector_bits >= 512 ? inner_avx512 : inner_by_vectors<Avx2>;
}

TileKernels builtin_tiles(const CpuFacts& facts) {
  if (!facts.fma) return portable_tiles();
  TileKernels table{{width, 3, 4, 0, 8}, true, {}, pack_by_vectors<Avx2>, scatter_fast, outer_avx2, vector_avx2};
  table.pack_beside = pack_beside<Avx2>;
  facts.vector_bits >= 512 ? widen_tiles(table) : add_tiles<Avx2, 4, 0>(table);
  return table;
}

}  // namespace sial::kernels
