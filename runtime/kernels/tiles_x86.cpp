// Built-in tiles for x86: compiled for AVX2 and fused arithmetic, used where the processor has them, and portable ones elsewhere.
// This file alone is built with these features: nothing in it runs before they are found.

#include <immintrin.h>

#include <algorithm>
#include <array>

#include "runtime/kernels/implementations.h"
#include "runtime/kernels/tiles.h"
#include "runtime/kernels/tiles_portable.h"

namespace sial::kernels {
namespace {

constexpr int width = 4;

/// Of the rows of a tile. In a short tile of several vectors the last one ends with the last row, over part of the one before: stores
/// through masks are slow on many processors. A single vector has a mask.
template <int V, bool Short>
struct Rows {
  static constexpr bool masked = Short && V == 1;
  std::int64_t last = (V - 1) * width;
  __m256i mask{};
  explicit Rows(std::int64_t rows) {
    if (masked) mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(rows), _mm256_set_epi64x(3, 2, 1, 0));
    else if (Short) last = rows - width;
  }
  __attribute__((always_inline)) std::int64_t at(int i) const { return i == V - 1 ? last : i * width; }
  __attribute__((always_inline)) __m256d load(const double* p, int i) const { return masked ? _mm256_maskload_pd(p, mask) : _mm256_loadu_pd(p + at(i)); }
  __attribute__((always_inline)) void store(double* p, int i, __m256d value) const {
    if (masked) _mm256_maskstore_pd(p, mask, value);
    else _mm256_storeu_pd(p + at(i), value);
  }
};

template <int V, int C, bool Short>
void tile(const TileWork* work) {
  const Rows<V, Short> rows(work->rows);
  const __m256d alpha = _mm256_set1_pd(work->alpha), beta = _mm256_set1_pd(work->beta);
  const bool overwrite = work->beta == 0.0, plain = overwrite && work->alpha == 1.0;  // a factor of one leaves the bits as they are
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
        for (int i = 0; i < V; ++i) row[i] = rows.load(a, i);
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
        __m256d value[V];
#pragma GCC unroll 4
        for (int i = 0; i < V; ++i)
          value[i] = plain ? sum[j][i] : overwrite ? _mm256_mul_pd(alpha, sum[j][i]) : _mm256_fmadd_pd(alpha, sum[j][i], _mm256_mul_pd(beta, rows.load(d, i)));
#pragma GCC unroll 4
        for (int i = 0; i < V; ++i) rows.store(d, i, value[i]);
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
    if (!w.d_row)
      finish_rows(d, sum, w.rows, w.alpha, w.beta);
    else if (w.beta == 0.0)
      for (std::int64_t i = 0; i < w.rows; ++i) d[w.d_row[i]] = w.alpha * sum[i];
    else
      for (std::int64_t i = 0; i < w.rows; ++i) d[w.d_row[i]] = __builtin_fma(w.alpha, sum[i], w.beta * d[w.d_row[i]]);
  }
}

/// V vectors of rows of an outer product at each position of a loop; the last vector ends with the last row, over part
/// of the one before.
template <int V, bool Overwrite>
void outer_rows(double* d, const double* x, const double* y, std::int64_t rows, const OuterWork::Loop& loop,
                double scale, double keep) {
  const __m256d alpha = _mm256_set1_pd(scale), beta = _mm256_set1_pd(keep), zero = _mm256_setzero_pd();
  const auto at = [=](int i) { return i == V - 1 ? rows - width : std::int64_t{i} * width; };
  __m256d row[V];
#pragma GCC unroll 9
  for (int i = 0; i < V; ++i) row[i] = _mm256_loadu_pd(x + at(i));
  const std::int64_t d_step = loop.d, x_step = loop.x, y_step = loop.y;
  for (std::int64_t j = loop.count; j > 0; --j, d += d_step, y += y_step) {
    if (x_step != 0 && j != loop.count) {
      x += x_step;
#pragma GCC unroll 9
      for (int i = 0; i < V; ++i) row[i] = _mm256_loadu_pd(x + at(i));
    }
    const __m256d factor = _mm256_broadcast_sd(y);
    __m256d value[V];
#pragma GCC unroll 9
    for (int i = 0; i < V; ++i) {
      const __m256d product = _mm256_fmadd_pd(row[i], factor, zero);
      value[i] = Overwrite ? _mm256_mul_pd(alpha, product)
                           : _mm256_fmadd_pd(alpha, product, _mm256_mul_pd(beta, _mm256_loadu_pd(d + at(i))));
      if (Overwrite) _mm256_storeu_pd(d + at(i), value[i]);
    }
    if (!Overwrite) {
#pragma GCC unroll 9
      for (int i = 0; i < V; ++i) _mm256_storeu_pd(d + at(i), value[i]);
    }
  }
}

/// Fewer rows than a vector has.
void outer_few(double* d, const double* x, const double* y, std::int64_t rows, const OuterWork::Loop& loop,
               double alpha, double beta) {
  for (std::int64_t j = loop.count; j > 0; --j, d += loop.d, x += loop.x, y += loop.y)
    for (std::int64_t i = 0; i < rows; ++i) {
      const double product = __builtin_fma(x[i], *y, 0.0);
      d[i] = beta == 0.0 ? alpha * product : __builtin_fma(alpha, product, beta * d[i]);
    }
}

/// One position only: a row of any length.
template <bool Overwrite>
void outer_row(double* d, const double* x, const double* y, std::int64_t rows, double alpha, double beta) {
  const __m256d scale = _mm256_set1_pd(alpha), keep = _mm256_set1_pd(beta), factor = _mm256_broadcast_sd(y), zero = _mm256_setzero_pd();
  const auto value = [&](std::int64_t i) {
    const __m256d product = _mm256_fmadd_pd(_mm256_loadu_pd(x + i), factor, zero);
    return Overwrite ? _mm256_mul_pd(scale, product) : _mm256_fmadd_pd(scale, product, _mm256_mul_pd(keep, _mm256_loadu_pd(d + i)));
  };
  const __m256d last = value(rows - width);  // over part of the one before, and formed before that one is stored
  for (std::int64_t i = 0; i + width < rows; i += width) _mm256_storeu_pd(d + i, value(i));
  _mm256_storeu_pd(d + rows - width, last);
}

constexpr std::int64_t columns_side_by_side = 8;

void outer_fast(const OuterWork& work) {
  using Rows = decltype(&outer_few);
  static constexpr int most = 9, strip = (most - 1) * width;
  static constexpr std::array<std::array<Rows, most + 1>, 2> codes{
      {{outer_few, outer_rows<1, false>, outer_rows<2, false>, outer_rows<3, false>, outer_rows<4, false>,
        outer_rows<5, false>, outer_rows<6, false>, outer_rows<7, false>, outer_rows<8, false>, outer_rows<9, false>},
       {outer_few, outer_rows<1, true>, outer_rows<2, true>, outer_rows<3, true>, outer_rows<4, true>,
        outer_rows<5, true>, outer_rows<6, true>, outer_rows<7, true>, outer_rows<8, true>, outer_rows<9, true>}}};
  const OuterWork w = work;
  const auto& code = codes[w.beta == 0.0 ? 1 : 0];
  // The last strip has a vector at least.
  std::int64_t strips = 0;
  while (w.rows - strips * strip >= strip + width) ++strips;
  const std::int64_t rest = w.rows - strips * strip;
  const Rows last = code[static_cast<std::size_t>(rest < width ? 0 : (rest + width - 1) / width)];
  for (std::int64_t k = 0; k < w.outer.count; ++k) {
    double* d = w.d + k * w.outer.d;
    const double* x = w.x + k * w.outer.x;
    const double* y = w.y + k * w.outer.y;
    if (strips > 0 && w.inner.count == 1) {
      w.beta == 0.0 ? outer_row<true>(d, x, y, w.rows, w.alpha, w.beta) : outer_row<false>(d, x, y, w.rows, w.alpha, w.beta);
      continue;
    }
    if (strips == 0) {
      last(d, x, y, rest, w.inner, w.alpha, w.beta);
      continue;
    }
    // Strips of a few columns side by side: their rows stay in registers.
    OuterWork::Loop some = w.inner;
    for (std::int64_t j = 0; j < w.inner.count; j += columns_side_by_side) {
      some.count = std::min(columns_side_by_side, w.inner.count - j);
      for (std::int64_t i = 0; i < strips; ++i)
        code[most - 1](d + i * strip, x + i * strip, y, strip, some, w.alpha, w.beta);
      last(d + strips * strip, x + strips * strip, y, rest, some, w.alpha, w.beta);
      d += some.count * some.d, x += some.count * some.x, y += some.count * some.y;
    }
  }
}

/// C columns of a matrix-vector product, over consecutive rows.
template <int C, bool Fresh>
void vector_columns(double* sum, const double* x, const std::int64_t* at, const double* y, std::int64_t rows) {
  const double* column[C];
  __m256d factor[C];
#pragma GCC unroll 8
  for (int p = 0; p < C; ++p) column[p] = x + at[p], factor[p] = _mm256_broadcast_sd(y + p);
  std::int64_t i = 0;
  for (; i + 2 * width <= rows; i += 2 * width) {
    __m256d low = Fresh ? _mm256_setzero_pd() : _mm256_loadu_pd(sum + i),
            high = Fresh ? _mm256_setzero_pd() : _mm256_loadu_pd(sum + i + width);
#pragma GCC unroll 8
    for (int p = 0; p < C; ++p) {
      low = _mm256_fmadd_pd(_mm256_loadu_pd(column[p] + i), factor[p], low);
      high = _mm256_fmadd_pd(_mm256_loadu_pd(column[p] + i + width), factor[p], high);
    }
    _mm256_storeu_pd(sum + i, low);
    _mm256_storeu_pd(sum + i + width, high);
  }
  for (; i < rows; i += width) {
    const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(rows - i), _mm256_set_epi64x(3, 2, 1, 0));
    __m256d low = Fresh ? _mm256_setzero_pd() : _mm256_loadu_pd(sum + i);
#pragma GCC unroll 8
    for (int p = 0; p < C; ++p) low = _mm256_fmadd_pd(_mm256_maskload_pd(column[p] + i, mask), factor[p], low);
    _mm256_storeu_pd(sum + i, low);
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

void vector_fast(const VectorWork& w) {
  std::int64_t i = 0;
  if (w.rows > 0) {
    bool fresh = w.fresh;
    const auto all = [&]<int C>() {
      for (; i + C <= w.count; i += C, fresh = false)
        fresh ? vector_columns<C, true>(w.sum, w.x, w.at + i, w.y + i, w.rows)
              : vector_columns<C, false>(w.sum, w.x, w.at + i, w.y + i, w.rows);
    };
    all.operator()<8>();
    all.operator()<4>();
    all.operator()<1>();
    return;
  }
  for (; i + 8 <= w.fours; i += 8) vector_rows<8>(w, i);
  switch (w.fours - i) {
    case 7:
      return vector_rows<7>(w, i);
    case 6:
      return vector_rows<6>(w, i);
    case 5:
      return vector_rows<5>(w, i);
    case 4:
      return vector_rows<4>(w, i);
    case 3:
      return vector_rows<3>(w, i);
    case 2:
      return vector_rows<2>(w, i);
    case 1:
      return vector_rows<1>(w, i);
    default:
      return;
  }
}

}  // namespace

TileKit builtin_tiles(const CpuFacts& facts) {
  if (!facts.fma) return portable_tiles();
  TileKit kit{{width, 3, 4}, true, {}, pack_fast, scatter_fast, outer_fast, vector_fast};
  for (int v = 1; v <= 3; ++v)
    for (int c = 1; c <= 4; ++c)
      for (int masked = 0; masked < 2; ++masked) kit.tile(v, c, masked != 0) = masked ? choose<true>(v, c) : choose<false>(v, c);
  return kit;
}

}  // namespace sial::kernels
