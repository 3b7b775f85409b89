#pragma once
// Tiles, outer products and matrix-vector products over vectors of a width W, for the files that are built for
// processors with such vectors. W has a linkage of its own in each of them, and so has what is made of these templates.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {

/// Takes the rows of a tile. In a short tile of several vectors the last one ends with the last row, over part of the
/// one before: stores through masks are slow on many processors. A single vector has a mask.
template <class W, int V, bool Short>
struct Rows {
  using Vector = typename W::Vector;
  static constexpr bool masked = Short && V == 1;
  std::int64_t last = (V - 1) * W::width;
  typename W::Mask mask{};
  explicit Rows(std::int64_t rows) {
    if (masked) mask = W::first(rows);
    else if (Short) last = rows - W::width;
  }
  __attribute__((always_inline)) std::int64_t at(int i) const { return i == V - 1 ? last : i * W::width; }
  __attribute__((always_inline)) Vector load(const double* p, int i) const {
    return masked ? W::load(p + at(i), mask) : W::load(p + at(i));
  }
  __attribute__((always_inline)) void store(double* p, int i, Vector value) const {
    if (masked) W::store(p + at(i), mask, value);
    else W::store(p + at(i), value);
  }
};

template <class W, int V, int C, bool Short, bool Even>
void tile(const TileWork* work) {
  using Vector = typename W::Vector;
  const Rows<W, V, Short> rows(work->rows);
  const bool overwrite = work->beta == 0.0,
             plain = overwrite && work->alpha == 1.0;  // a factor of one leaves the bits as they are
  const std::int64_t* const a_at = work->a_at;
  const std::int64_t* const b_at = work->b_at;
  const std::int64_t d_fetch = work->d_fetch, prefetch_lines = work->prefetch_lines;
  const double* near = work->near;
  for (std::int64_t g = 0; g < work->column_groups; ++g) {
    const std::int64_t* const b_column = work->b_column + g * C;
    const std::int64_t* const d_column = work->d_column + g * C;
    const double* column[C];
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) column[j] = work->b + g * work->b_step + b_column[j];
    const double* a_base = work->a;
    double* d_base = work->d;
    const std::int64_t repeat = work->repeat, to_next_a = work->a_run - (repeat - 1) * work->a_step,
                       to_next_d = work->d_run - (repeat - 1) * work->d_step;
    for (std::int64_t left = repeat * work->runs, in_run = repeat; left > 0; --left) {
      Vector sum[C][V];
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j)
#pragma GCC unroll 8
        for (int i = 0; i < V; ++i) sum[j][i] = W::zero();
      // Memory that is only written is not waited for.
      if (!overwrite)
        for (int j = 0; j < C; ++j) __builtin_prefetch(d_base + d_column[j], 0, 3);
      if (d_fetch >= 0)
        for (int j = 0; j < C; ++j)
#pragma GCC unroll 8
          for (int i = 0; i < V; ++i) __builtin_prefetch(d_base + d_fetch + d_column[j] + i * W::width, 0, 3);
      for (std::int64_t n = prefetch_lines; n > 0; --n, near += prefetch_line) __builtin_prefetch(near, 0, 2);
      const auto add = [&](const double* a, std::int64_t at) __attribute__((always_inline)) {
        Vector row[V];
#pragma GCC unroll 8
        for (int i = 0; i < V; ++i) row[i] = rows.load(a, i);
#pragma GCC unroll 8
        for (int j = 0; j < C; ++j) {
          const Vector factor = W::all(column[j][at]);
#pragma GCC unroll 8
          for (int i = 0; i < V; ++i) sum[j][i] = W::fused(row[i], factor, sum[j][i]);
        }
      };
      const std::int64_t count = work->count;
      if constexpr (Even) {
        // Addresses that wait for nothing: lines are under way long before their products.
        const std::int64_t a_along = work->a_along, b_along = work->b_along;
        const double* a = a_base + a_at[0];
        std::int64_t at = b_at[0];
#pragma GCC unroll 2
        for (std::int64_t p = 0; p < count; ++p, a += a_along, at += b_along) add(a, at);
      } else {
        for (std::int64_t p = 0; p < count; ++p) add(a_base + a_at[p], b_at[p]);
      }
      const Vector alpha = W::all(work->alpha), beta = W::all(work->beta);  // only now are there registers for them
      const auto finish = [&](int j) __attribute__((always_inline)) {
        double* d = d_base + d_column[j];
#pragma GCC unroll 8
        for (int i = 0; i < V; ++i)
          sum[j][i] = plain       ? sum[j][i]
                      : overwrite ? W::product(alpha, sum[j][i])
                                  : W::fused(alpha, sum[j][i], W::product(beta, rows.load(d, i)));
      };
      // A column is read before the one before it is written: it often begins where that ends, and would wait for what
      // a mask leaves out there.
      finish(0);
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) {
        if (j + 1 < C) finish(j + 1);
        double* d = d_base + d_column[j];
#pragma GCC unroll 8
        for (int i = 0; i < V; ++i) rows.store(d, i, sum[j][i]);
      }
      const bool run_ends = --in_run == 0;
      a_base += run_ends ? to_next_a : work->a_step, d_base += run_ends ? to_next_d : work->d_step;
      if (run_ends) in_run = repeat;
    }
  }
}

/// The codes of a kit of 3 x `columns`, 4 x `tall_columns` and 8 x 1 tiles.
template <class W, int columns, int tall_columns>
void add_tiles(TileKernels& table) {
  const auto add = [&]<int V, int... C>(std::integer_sequence<int, C...>) {
    ((table.tile(V, C + 1, false) = tile<W, V, C + 1, false, false>,
      table.tile(V, C + 1, true) = tile<W, V, C + 1, true, false>,
      table.tile(V, C + 1, false, true) = tile<W, V, C + 1, false, true>,
      table.tile(V, C + 1, true, true) = tile<W, V, C + 1, true, true>),
     ...);
  };
  constexpr std::make_integer_sequence<int, columns> all;
  add.template operator()<1>(all);
  add.template operator()<2>(all);
  add.template operator()<3>(all);
  add.template operator()<4>(std::make_integer_sequence<int, std::max(1, tall_columns)>{});
  constexpr std::make_integer_sequence<int, 1> one;
  add.template operator()<5>(one);
  add.template operator()<6>(one);
  add.template operator()<7>(one);
  add.template operator()<8>(one);
}

/// V vectors of rows of an outer product at each position of a loop; the last vector ends with the last row, over part
/// of the one before.
template <class W, int V, bool Overwrite>
void outer_rows(double* d, const double* x, const double* y, std::int64_t rows, const OuterWork::Loop& loop,
                double scale, double keep) {
  using Vector = typename W::Vector;
  constexpr int width = W::width;
  const Vector alpha = W::all(scale), beta = W::all(keep), zero = W::zero();
  const auto at = [=](int i) { return i == V - 1 ? rows - width : std::int64_t{i} * width; };
  Vector row[V];
#pragma GCC unroll 9
  for (int i = 0; i < V; ++i) row[i] = W::load(x + at(i));
  const std::int64_t d_step = loop.d, x_step = loop.x, y_step = loop.y;
  for (std::int64_t j = loop.count; j > 0; --j, d += d_step, y += y_step) {
    if (x_step != 0 && j != loop.count) {
      x += x_step;
#pragma GCC unroll 9
      for (int i = 0; i < V; ++i) row[i] = W::load(x + at(i));
    }
    const Vector factor = W::all(*y);
    Vector value[V];
#pragma GCC unroll 9
    for (int i = 0; i < V; ++i) {
      const Vector product = W::fused(row[i], factor, zero);
      value[i] =
          Overwrite ? W::product(alpha, product) : W::fused(alpha, product, W::product(beta, W::load(d + at(i))));
      if (Overwrite) W::store(d + at(i), value[i]);
    }
    if (!Overwrite) {
#pragma GCC unroll 9
      for (int i = 0; i < V; ++i) W::store(d + at(i), value[i]);
    }
  }
}

/// Fewer rows than a vector has.
template <class W>
void outer_few(double* d, const double* x, const double* y, std::int64_t rows, const OuterWork::Loop& loop,
               double alpha, double beta) {
  for (std::int64_t j = loop.count; j > 0; --j, d += loop.d, x += loop.x, y += loop.y)
    for (std::int64_t i = 0; i < rows; ++i) {
      const double product = __builtin_fma(x[i], *y, 0.0);
      d[i] = beta == 0.0 ? alpha * product : __builtin_fma(alpha, product, beta * d[i]);
    }
}

/// One position only: a row of any length.
template <class W, bool Overwrite>
void outer_row(double* d, const double* x, const double* y, std::int64_t rows, double alpha, double beta) {
  using Vector = typename W::Vector;
  constexpr int width = W::width;
  const Vector scale = W::all(alpha), keep = W::all(beta), factor = W::all(*y), zero = W::zero();
  const auto value = [&](std::int64_t i) {
    const Vector product = W::fused(W::load(x + i), factor, zero);
    return Overwrite ? W::product(scale, product) : W::fused(scale, product, W::product(keep, W::load(d + i)));
  };
  const Vector last = value(rows - width);  // over part of the one before, and formed before that one is stored
#pragma GCC unroll 4
  for (std::int64_t i = 0; i + width < rows; i += width) W::store(d + i, value(i));
  W::store(d + rows - width, last);
}

/// The same by non-temporal stores, but for the ends.
template <class W>
void outer_row_past_caches(double* d, const double* x, const double* y, std::int64_t rows, double alpha) {
  using Vector = typename W::Vector;
  constexpr int width = W::width;
  const Vector scale = W::all(alpha), factor = W::all(*y), zero = W::zero();
  const auto value = [&](Vector row) { return W::product(scale, W::fused(row, factor, zero)); };
  const auto some = [&](std::int64_t i, std::int64_t end) {
    for (; i < end; i += width) {
      const typename W::Mask mask = W::first(end - i);
      W::store(d + i, mask, value(W::load(x + i, mask)));
    }
  };
  // Whole lines: what is written in part goes there twice.
  std::int64_t i = (prefetch_line -
                    reinterpret_cast<std::intptr_t>(d) / static_cast<std::intptr_t>(sizeof(double)) % prefetch_line) %
                   prefetch_line;
  some(0, i);
#pragma GCC unroll 4
  for (; i + prefetch_line <= rows; i += prefetch_line)
    for (std::int64_t k = i; k < i + prefetch_line; k += width) W::stream(d + k, value(W::load(x + k)));
  some(i, rows);
}

constexpr std::int64_t columns_side_by_side = 8;

/// Outer products in rows of at least one vector.
template <class W>
void outer_strips(const OuterWork& work) {
  constexpr int width = W::width;
  using Rows = decltype(&outer_few<W>);
  static constexpr int most = 9, strip = (most - 1) * width;
  static constexpr std::array<std::array<Rows, most + 1>, 2> codes{
      {{outer_few<W>, outer_rows<W, 1, false>, outer_rows<W, 2, false>, outer_rows<W, 3, false>,
        outer_rows<W, 4, false>, outer_rows<W, 5, false>, outer_rows<W, 6, false>, outer_rows<W, 7, false>,
        outer_rows<W, 8, false>, outer_rows<W, 9, false>},
       {outer_few<W>, outer_rows<W, 1, true>, outer_rows<W, 2, true>, outer_rows<W, 3, true>, outer_rows<W, 4, true>,
        outer_rows<W, 5, true>, outer_rows<W, 6, true>, outer_rows<W, 7, true>, outer_rows<W, 8, true>,
        outer_rows<W, 9, true>}}};
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
    if (strips > 0 && (w.inner.count == 1 || w.row_by_row)) {
      for (std::int64_t j = 0; j < w.inner.count; ++j, d += w.inner.d, x += w.inner.x, y += w.inner.y) {
        if (w.past_caches) outer_row_past_caches<W>(d, x, y, w.rows, w.alpha);
        else if (w.beta == 0.0) outer_row<W, true>(d, x, y, w.rows, w.alpha, w.beta);
        else outer_row<W, false>(d, x, y, w.rows, w.alpha, w.beta);
      }
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
template <class W, int C, bool Fresh>
void vector_columns(double* sum, const double* x, const std::int64_t* at, const double* y, std::int64_t rows) {
  using Vector = typename W::Vector;
  constexpr int width = W::width;
  const double* column[C];
  Vector factor[C];
#pragma GCC unroll 8
  for (int p = 0; p < C; ++p) column[p] = x + at[p], factor[p] = W::all(y[p]);
  std::int64_t i = 0;
  for (; i + 2 * width <= rows; i += 2 * width) {
    Vector low = Fresh ? W::zero() : W::load(sum + i), high = Fresh ? W::zero() : W::load(sum + i + width);
#pragma GCC unroll 8
    for (int p = 0; p < C; ++p) {
      low = W::fused(W::load(column[p] + i), factor[p], low);
      high = W::fused(W::load(column[p] + i + width), factor[p], high);
    }
    W::store(sum + i, low);
    W::store(sum + i + width, high);
  }
  for (; i < rows; i += width) {
    const typename W::Mask mask = W::first(rows - i);
    double* to = sum + i;
    constexpr bool whole = width == 4;  // for which there is room
    Vector low = W::zero();
    if (!Fresh) low = whole ? W::load(to) : W::load(to, mask);
#pragma GCC unroll 8
    for (int p = 0; p < C; ++p) low = W::fused(W::load(column[p] + i, mask), factor[p], low);
    whole ? W::store(to, low) : W::store(to, mask, low);
  }
}

/// The part of a matrix-vector product over consecutive rows.
template <class W>
void vector_of_columns(const VectorWork& w) {
  std::int64_t i = 0;
  bool fresh = w.fresh;
  const auto all = [&]<int C>() {
    for (; i + C <= w.count; i += C, fresh = false)
      fresh ? vector_columns<W, C, true>(w.sum, w.x, w.at + i, w.y + i, w.rows)
            : vector_columns<W, C, false>(w.sum, w.x, w.at + i, w.y + i, w.rows);
  };
  all.template operator()<8>();
  all.template operator()<4>();
  all.template operator()<1>();
}

template <class W>
double inner_by_vectors(const double* x, const double* y, std::int64_t n) {
  constexpr std::int64_t vectors = inner_sums / W::width;
  typename W::Vector sum[vectors];
#pragma GCC unroll 8
  for (std::int64_t v = 0; v < vectors; ++v) sum[v] = W::zero();
  std::int64_t i = 0;
  for (; i + inner_sums <= n; i += inner_sums)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < vectors; ++v)
      sum[v] = W::sum(sum[v], W::product(W::load(x + i + v * W::width), W::load(y + i + v * W::width)));
  // Sums begin with 0 and are never -0: another 0 leaves the bits of those that have no position left.
#pragma GCC unroll 8
  for (std::int64_t v = 0; v < vectors; ++v, i += W::width)
    if (i < n) sum[v] = W::sum(sum[v], W::product(W::load(x + i, W::first(n - i)), W::load(y + i, W::first(n - i))));
#pragma GCC unroll 8
  for (std::int64_t half = vectors / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < half; ++v) sum[v] = W::sum(sum[v], sum[v + half]);
  return W::total(sum[0]);
}

/// Outer and matrix-vector products by AVX2, for what is too short for wider vectors.
void outer_avx2(const OuterWork& work);
void vector_avx2(const VectorWork& work);

}  // namespace sial::kernels
