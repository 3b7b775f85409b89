// Built-in permutations for x86: compiled for AVX2, used where the processor has it, and portable ones elsewhere. This
// file alone is built with these features: nothing in it runs before they are found.

#include <immintrin.h>

#include <cstdint>

#include "runtime/core/kernels/interface/permute_code.h"
#include "runtime/core/kernels/permute/transpose_avx2.h"

namespace sial::kernels {
namespace {

struct Factors {
  double alpha, beta;
};

template <Blend blend>
__attribute__((always_inline)) inline void put(double* to, double from, Factors f) {
  if constexpr (blend == Blend::copy) *to = from;
  else if constexpr (blend == Blend::scale) *to = f.alpha * from;
  else if constexpr (blend == Blend::add) *to = f.alpha * from + *to;
  else *to = f.alpha * from + f.beta * *to;
}

template <Blend blend>
__attribute__((always_inline)) inline __m256d blended(const double* to, __m256d from, Factors f) {
  if constexpr (blend != Blend::copy) from = _mm256_mul_pd(_mm256_set1_pd(f.alpha), from);
  if constexpr (blend == Blend::add) from = _mm256_add_pd(from, _mm256_loadu_pd(to));
  if constexpr (blend == Blend::update)
    from = _mm256_add_pd(from, _mm256_mul_pd(_mm256_set1_pd(f.beta), _mm256_loadu_pd(to)));
  return from;
}

template <Blend blend>
__attribute__((always_inline)) inline void put(double* to, __m256d from, Factors f) {
  _mm256_storeu_pd(to, blended<blend>(to, from, f));
}

template <Blend blend>
__attribute__((always_inline)) inline void put(double* to, __m128d from, Factors f) {
  if constexpr (blend != Blend::copy) from = _mm_mul_pd(_mm_set1_pd(f.alpha), from);
  if constexpr (blend == Blend::add) from = _mm_add_pd(from, _mm_loadu_pd(to));
  if constexpr (blend == Blend::update) from = _mm_add_pd(from, _mm_mul_pd(_mm_set1_pd(f.beta), _mm_loadu_pd(to)));
  _mm_storeu_pd(to, from);
}

struct Four {
  __m256d v[4];
};

/// Four consecutive elements of each of four rows of y, transposed.
__attribute__((always_inline)) inline Four turn(const double* y, std::int64_t step) {
  Four square{
      {_mm256_loadu_pd(y), _mm256_loadu_pd(y + step), _mm256_loadu_pd(y + 2 * step), _mm256_loadu_pd(y + 3 * step)}};
  transpose_square(square.v);
  return square;
}

/// Eight rows of y, four elements each, become the last `columns` of four lines of x: rows i..i+3 and
/// i+second..i+second+3, which may be partly the same. All of x that is read is read before any of it is written.
template <Blend blend, int columns>
__attribute__((always_inline)) inline void transpose_eight(double* x, std::int64_t x_step, const double* y,
                                                           std::int64_t y_step, std::int64_t second, Factors f) {
  Four near = turn(y, y_step), far = turn(y + second * y_step, y_step);
#pragma GCC unroll 4
  for (int j = 4 - columns; j < 4; ++j) {
    double* to = x + j * x_step;
    const __m256d low = blended<blend>(to, near.v[j], f), high = blended<blend>(to + second, far.v[j], f);
    _mm256_storeu_pd(to, low);
    _mm256_storeu_pd(to + second, high);
  }
}

template <Blend blend, int columns>
__attribute__((always_inline)) inline void transpose_four(double* x, std::int64_t x_step, const double* y,
                                                          std::int64_t y_step, Factors f) {
  const Four t = turn(y, y_step);
#pragma GCC unroll 4
  for (int j = 4 - columns; j < 4; ++j) put<blend>(x + j * x_step, t.v[j], f);
}

/// Rows of a panel in eights, then four, then four to seven in two fours that overlap.
struct Rows {
  std::int64_t eights = 0;
  bool four = false;
  std::int64_t over = 0;  // rows beyond the first four of the last part; 0: no such part
  explicit Rows(std::int64_t length) : eights(length / 8) {
    std::int64_t rest = length % 8;
    if (rest > 0 && rest < 4) {
      --eights;
      rest += 8;
    }
    four = rest == 4 || rest > 8;
    over = rest == 4 ? 0 : rest % 4;
  }
};

/// Four lines of x, or the last `columns` of them; with `wide` eight, so that whole lines of y are used up in passing.
template <Blend blend, int columns, bool wide = false>
__attribute__((always_inline)) inline void transpose_strip(double* x, std::int64_t x_step, const double* y,
                                                           std::int64_t y_step, const Rows& rows, Factors f) {
  const auto eight = [&](std::int64_t second) __attribute__((always_inline)) {
    transpose_eight<blend, columns>(x, x_step, y, y_step, second, f);
    if constexpr (wide) transpose_eight<blend, columns>(x + 4 * x_step, x_step, y + 4, y_step, second, f);
  };
  for (std::int64_t n = rows.eights; n > 0; --n, x += 8, y += 8 * y_step) eight(4);
  if (rows.four) {
    transpose_four<blend, columns>(x, x_step, y, y_step, f);
    if constexpr (wide) transpose_four<blend, columns>(x + 4 * x_step, x_step, y + 4, y_step, f);
    x += 4, y += 4 * y_step;
  }
  if (rows.over) eight(rows.over);
}

template <Blend blend>
__attribute__((always_inline)) inline void transpose_last_strip(double* x, std::int64_t x_step, const double* y,
                                                                std::int64_t y_step, const Rows& rows,
                                                                std::int64_t columns, Factors f) {
  if (columns == 3) transpose_strip<blend, 3>(x, x_step, y, y_step, rows, f);
  if (columns == 2) transpose_strip<blend, 2>(x, x_step, y, y_step, rows, f);
  if (columns == 1) transpose_strip<blend, 1>(x, x_step, y, y_step, rows, f);
}

template <Blend blend>
__attribute__((always_inline)) inline void transpose_2x2(double* x, std::int64_t x_step, const double* y,
                                                         std::int64_t y_step, Factors f) {
  const __m128d a = _mm_loadu_pd(y), b = _mm_loadu_pd(y + y_step);
  put<blend>(x, _mm_unpacklo_pd(a, b), f);
  put<blend>(x + x_step, _mm_unpackhi_pd(a, b), f);
}

/// Panels with fewer than four rows or columns: twos, single elements.
template <Blend blend>
void transpose_narrow(const PanelWork& w) {
  const Factors f{w.alpha, w.beta};
  std::int64_t i = 0;
  for (; i + 2 <= w.length; i += 2) {
    std::int64_t j = 0;
    for (; j + 2 <= w.count; j += 2)
      transpose_2x2<blend>(w.x + i + j * w.x_step, w.x_step, w.y + j + i * w.y_step, w.y_step, f);
    for (; j < w.count; ++j)
      for (std::int64_t k = i; k < i + 2; ++k) put<blend>(w.x + k + j * w.x_step, w.y[j + k * w.y_step], f);
  }
  for (; i < w.length; ++i)
    for (std::int64_t j = 0; j < w.count; ++j) put<blend>(w.x + i + j * w.x_step, w.y[j + i * w.y_step], f);
}

template <Blend blend, bool along_x>
__attribute__((always_inline)) inline void transpose_panel(double* x, std::int64_t x_step, const double* y,
                                                           std::int64_t y_step, std::int64_t length, std::int64_t count,
                                                           Factors f) {
  const std::int64_t last = count % 4;
  if constexpr (along_x) {
    const Rows rows(length);
    std::int64_t fours = count / 4;
    // Rows that share few places in the cache are used up at once.
    if (y_step % 256 == 0)
      for (; fours > 1; fours -= 2, x += 8 * x_step, y += 8)
        transpose_strip<blend, 4, true>(x, x_step, y, y_step, rows, f);
    for (; fours > 0; --fours, x += 4 * x_step, y += 4) transpose_strip<blend, 4>(x, x_step, y, y_step, rows, f);
    if (last) transpose_last_strip<blend>(x - (4 - last) * x_step, x_step, y - (4 - last), y_step, rows, last, f);
  } else {
    const Rows all(length);
    const auto part = [&](const Rows& rows, std::int64_t i) __attribute__((always_inline)) {
      double* to = x + i;
      const double* from = y + i * y_step;
      for (std::int64_t n = count / 4; n > 0; --n, to += 4 * x_step, from += 4)
        transpose_strip<blend, 4>(to, x_step, from, y_step, rows, f);
      if (last) transpose_last_strip<blend>(to - (4 - last) * x_step, x_step, from - (4 - last), y_step, rows, last, f);
    };
    std::int64_t i = 0;
    for (; i < 8 * all.eights; i += 8) part(Rows(8), i);
    if (all.four || all.over) part(Rows(length - i), i);
  }
}

}  // namespace

template <Blend blend, bool along_x>
void transposed_avx2(const PanelWork* work) {
  PanelWork w = *work;
  if (w.length < 4 || w.count < 4) {
    for (std::int64_t n = w.panels; n > 0; --n, w.x += w.x_next, w.y += w.y_next) transpose_narrow<blend>(w);
    return;
  }
  const Factors f{w.alpha, w.beta};
  for (std::int64_t n = w.panels; n > 0; --n, w.x += w.x_next, w.y += w.y_next)
    transpose_panel<blend, along_x>(w.x, w.x_step, w.y, w.y_step, w.length, w.count, f);
}

namespace {

template <Blend blend>
__attribute__((always_inline)) inline void copy_lines(const PanelWork& w) {
  const Factors f{w.alpha, w.beta};
  double* x = w.x;
  const double* y = w.y;
  // The rest after fours is a vector that ends with the line, over part of the one before: its result is formed before
  // that one is stored.
  const std::int64_t end = w.length - 4;
  const bool over = w.length > 4 && w.length % 4 != 0;
  for (std::int64_t j = 0; j < w.count; ++j, x += w.x_step, y += w.y_step) {
    __m256d last = _mm256_setzero_pd();
    if (over) last = blended<blend>(x + end, _mm256_loadu_pd(y + end), f);
    std::int64_t i = 0;
    for (; i + 8 <= w.length; i += 8) {
      const __m256d low = _mm256_loadu_pd(y + i), high = _mm256_loadu_pd(y + i + 4);
      put<blend>(x + i, low, f);
      put<blend>(x + i + 4, high, f);
    }
    if (i + 4 <= w.length) {
      put<blend>(x + i, _mm256_loadu_pd(y + i), f);
      i += 4;
    }
    if (over) _mm256_storeu_pd(x + end, last);
    else
      for (; i < w.length; ++i) put<blend>(x + i, y[i], f);
  }
}

}  // namespace

template <Blend blend>
void lines_avx2(const PanelWork* work) {
  PanelWork w = *work;
  for (std::int64_t n = w.panels; n > 0; --n, w.x += w.x_next, w.y += w.y_next) copy_lines<blend>(w);
}

namespace {

template <Blend blend>
void piece(PieceWork* work) {
  double* x = work->x;
  const double* from = work->piece;
  const std::int32_t* at = work->at;
  const Factors f{1.0, work->beta};
  std::int64_t n = work->count;
  const auto single = [&] {
    if constexpr (blend == Blend::update) *x = *from + f.beta * *x;
    else if constexpr (blend == Blend::add) *x = *from + *x;
    else *x = *from;
    ++x, ++from, --n;
  };
  while (n > 0 && (reinterpret_cast<std::uintptr_t>(x) & 63) != 0) single();
  for (; n >= 8; n -= 8, x += 8, from += 8) {
    for (std::int64_t k = work->per_line; k > 0 && at != work->at_end; --k)
      __builtin_prefetch(work->y_soon + *at++, 0, 2);
    __m256d low = _mm256_loadu_pd(from), high = _mm256_loadu_pd(from + 4);
    if constexpr (blend == Blend::copy) {
      _mm256_stream_pd(x, low);
      _mm256_stream_pd(x + 4, high);
    } else {
      __m256d x_low = _mm256_load_pd(x), x_high = _mm256_load_pd(x + 4);
      if constexpr (blend == Blend::update) {
        const __m256d beta = _mm256_set1_pd(f.beta);
        x_low = _mm256_mul_pd(beta, x_low), x_high = _mm256_mul_pd(beta, x_high);
      }
      _mm256_store_pd(x, _mm256_add_pd(low, x_low));
      _mm256_store_pd(x + 4, _mm256_add_pd(high, x_high));
    }
  }
  while (n > 0) single();  // NOLINT(bugprone-infinite-loop): single() counts n down
  work->at = at;
}

template <Blend blend>
__attribute__((always_inline)) inline void stream_line(double* x, __m256d low, __m256d high, Factors f) {
  _mm256_stream_pd(x, blended<blend>(nullptr, low, f));
  _mm256_stream_pd(x + 4, blended<blend>(nullptr, high, f));
}

template <Blend blend>
void stream_transposed(const PanelWork* work, const double* soon) {
  const PanelWork& w = *work;
  const Factors f{w.alpha, w.beta};
  const std::int64_t fours = w.count / 4 * 4;
  for (std::int64_t n = 0; n < w.panels; ++n, soon += w.y_next) {
    double* x = w.x + n * w.x_next;
    const double* y = w.y + n * w.y_next;
    for (std::int64_t j = 0; j < fours; j += 4) {
      if (j % 8 == 0)
        for (std::int64_t k = 0; k < 8; ++k) __builtin_prefetch(soon + j + k * w.y_step, 0, 2);
      const Four near = turn(y + j, w.y_step), far = turn(y + j + 4 * w.y_step, w.y_step);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) stream_line<blend>(x + (j + k) * w.x_step, near.v[k], far.v[k], f);
    }
    for (std::int64_t j = fours; j < w.count; ++j) {
      const double* from = y + j;
      const auto four = [&](std::int64_t i) {
        return _mm256_setr_pd(from[i * w.y_step], from[(i + 1) * w.y_step], from[(i + 2) * w.y_step],
                              from[(i + 3) * w.y_step]);
      };
      stream_line<blend>(x + j * w.x_step, four(0), four(4), f);
    }
  }
}

template <Blend blend>
void stream_lines(const PanelWork* work, const double* soon) {
  const PanelWork& w = *work;
  const Factors f{w.alpha, w.beta};
  for (std::int64_t n = 0; n < w.panels; ++n)
    for (std::int64_t j = 0; j < w.count; ++j) {
      const std::int64_t at = n * w.y_next + j * w.y_step;
      double* x = w.x + n * w.x_next + j * w.x_step;
      const double* y = w.y + at;
      for (std::int64_t i = 0; i < w.length; i += 8) {
        __builtin_prefetch(soon + at + i, 0, 2);
        stream_line<blend>(x + i, _mm256_loadu_pd(y + i), _mm256_loadu_pd(y + i + 4), f);
      }
    }
}

template <Blend blend>
void add(PermuteKernels& table) {
  constexpr auto k = static_cast<std::size_t>(blend);
  table.transposed[k] = {transposed_avx2<blend, false>, transposed_avx2<blend, true>};
  table.lines[k] = lines_avx2<blend>;
  if constexpr (blend != Blend::scale) table.piece[k] = piece<blend>;
  if constexpr (blend == Blend::copy || blend == Blend::scale) {
    table.stream_transposed[k] = stream_transposed<blend>;
    table.stream_lines[k] = stream_lines<blend>;
  }
}

}  // namespace

// For the code for AVX-512.
#define SIAL_INSTANTIATE(blend)                                       \
  template void transposed_avx2<blend, false>(const PanelWork* work); \
  template void transposed_avx2<blend, true>(const PanelWork* work);  \
  template void lines_avx2<blend>(const PanelWork* work);
SIAL_INSTANTIATE(Blend::copy)
SIAL_INSTANTIATE(Blend::scale)
SIAL_INSTANTIATE(Blend::add)
SIAL_INSTANTIATE(Blend::update)
#undef SIAL_INSTANTIATE

PermuteKernels builtin_permute(const CpuFacts& facts) {
  if (facts.vector_bits < 256) return portable_permute();
  PermuteKernels table;
  table.vector_bits = 256;
  table.streams = true;
  add<Blend::copy>(table);
  add<Blend::scale>(table);
  add<Blend::add>(table);
  add<Blend::update>(table);
  if (facts.vector_bits >= 512) widen_permute(table);
  return table;
}

}  // namespace sial::kernels
