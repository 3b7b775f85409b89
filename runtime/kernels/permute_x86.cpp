// Built-in permutations for x86: compiled for AVX2, used where the processor has it, and portable ones elsewhere. This file alone
// is built with these features: nothing in it runs before they are found.

#include <immintrin.h>

#include <cstdint>

#include "runtime/kernels/permute_code.h"

namespace sial::kernels {
namespace {

struct Factors {
  double alpha, beta;
};

template <Blend blend>
__attribute__((always_inline)) inline void put(double* to, double from, Factors f) {
  if constexpr (blend == Blend::copy)
    *to = from;
  else if constexpr (blend == Blend::scale)
    *to = f.alpha * from;
  else if constexpr (blend == Blend::add)
    *to = f.alpha * from + *to;
  else
    *to = f.alpha * from + f.beta * *to;
}

template <Blend blend>
__attribute__((always_inline)) inline __m256d blended(const double* to, __m256d from, Factors f) {
  if constexpr (blend != Blend::copy) from = _mm256_mul_pd(_mm256_set1_pd(f.alpha), from);
  if constexpr (blend == Blend::add) from = _mm256_add_pd(from, _mm256_loadu_pd(to));
  if constexpr (blend == Blend::update) from = _mm256_add_pd(from, _mm256_mul_pd(_mm256_set1_pd(f.beta), _mm256_loadu_pd(to)));
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

/// Four consecutive elements of each of four rows of y, turned.
__attribute__((always_inline)) inline Four turn(const double* y, std::int64_t step) {
  const __m256d a = _mm256_loadu_pd(y), b = _mm256_loadu_pd(y + step), c = _mm256_loadu_pd(y + 2 * step), d = _mm256_loadu_pd(y + 3 * step);
  const __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b), cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
  return {{_mm256_permute2f128_pd(ab0, cd0, 0x20), _mm256_permute2f128_pd(ab1, cd1, 0x20), _mm256_permute2f128_pd(ab0, cd0, 0x31),
           _mm256_permute2f128_pd(ab1, cd1, 0x31)}};
}

/// Eight rows of y, four elements each, become whole cache lines of x.
template <Blend blend>
__attribute__((always_inline)) inline void turn_8x4(double* x, std::int64_t x_step, const double* y, std::int64_t y_step, Factors f) {
  const Four near = turn(y, y_step), far = turn(y + 4 * y_step, y_step);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    put<blend>(x + j * x_step, near.v[j], f);
    put<blend>(x + j * x_step + 4, far.v[j], f);
  }
}

template <Blend blend>
__attribute__((always_inline)) inline void turn_8x8(double* x, std::int64_t x_step, const double* y, std::int64_t y_step, Factors f) {
  turn_8x4<blend>(x, x_step, y, y_step, f);
  turn_8x4<blend>(x + 4 * x_step, x_step, y + 4, y_step, f);
}

template <Blend blend>
__attribute__((always_inline)) inline void turn_2x2(double* x, std::int64_t x_step, const double* y, std::int64_t y_step, Factors f) {
  const __m128d a = _mm_loadu_pd(y), b = _mm_loadu_pd(y + y_step);
  put<blend>(x, _mm_unpacklo_pd(a, b), f);
  put<blend>(x + x_step, _mm_unpackhi_pd(a, b), f);
}

/// What eights leave over: fours, twos, single elements.
template <Blend blend>
void turn_rest(const PanelWork& w, std::int64_t i, std::int64_t i_end, std::int64_t j_begin, std::int64_t j_end, Factors f) {
  for (; i + 4 <= i_end; i += 4) {
    std::int64_t j = j_begin;
    for (; j + 4 <= j_end; j += 4) {
      const Four t = turn(w.y + j + i * w.y_step, w.y_step);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) put<blend>(w.x + i + (j + k) * w.x_step, t.v[k], f);
    }
    for (; j + 2 <= j_end; j += 2)
      for (std::int64_t k = i; k < i + 4; k += 2) turn_2x2<blend>(w.x + k + j * w.x_step, w.x_step, w.y + j + k * w.y_step, w.y_step, f);
    for (; j < j_end; ++j)
      for (std::int64_t k = i; k < i + 4; ++k) put<blend>(w.x + k + j * w.x_step, w.y[j + k * w.y_step], f);
  }
  for (; i + 2 <= i_end; i += 2) {
    std::int64_t j = j_begin;
    for (; j + 2 <= j_end; j += 2) turn_2x2<blend>(w.x + i + j * w.x_step, w.x_step, w.y + j + i * w.y_step, w.y_step, f);
    for (; j < j_end; ++j)
      for (std::int64_t k = i; k < i + 2; ++k) put<blend>(w.x + k + j * w.x_step, w.y[j + k * w.y_step], f);
  }
  for (; i < i_end; ++i)
    for (std::int64_t j = j_begin; j < j_end; ++j) put<blend>(w.x + i + j * w.x_step, w.y[j + i * w.y_step], f);
}

template <Blend blend, bool along_x>
__attribute__((always_inline)) inline void turn_panel(const PanelWork& w) {
  const Factors f{w.alpha, w.beta};
  const std::int64_t length = w.length & ~std::int64_t{7}, count = w.count & ~std::int64_t{7};
  if constexpr (along_x) {
    for (std::int64_t j = 0; j < count; j += 8) {
      double* x = w.x + j * w.x_step;
      const double* y = w.y + j;
      for (std::int64_t i = 0; i < length; i += 8, x += 8, y += 8 * w.y_step) turn_8x8<blend>(x, w.x_step, y, w.y_step, f);
    }
  } else {
    for (std::int64_t i = 0; i < length; i += 8) {
      double* x = w.x + i;
      const double* y = w.y + i * w.y_step;
      for (std::int64_t j = 0; j < count; j += 8, x += 8 * w.x_step, y += 8) turn_8x8<blend>(x, w.x_step, y, w.y_step, f);
    }
  }
  if (count < w.count) turn_rest<blend>(w, 0, length, count, w.count, f);
  if (length < w.length) turn_rest<blend>(w, length, w.length, 0, w.count, f);
}

template <Blend blend, bool along_x>
void turned(const PanelWork* work) {
  PanelWork w = *work;
  for (std::int64_t n = w.panels; n > 0; --n, w.x += w.x_next, w.y += w.y_next) turn_panel<blend, along_x>(w);
}

template <Blend blend>
__attribute__((always_inline)) inline void copy_lines(const PanelWork& w) {
  const Factors f{w.alpha, w.beta};
  double* x = w.x;
  const double* y = w.y;
  // What fours leave over is a vector that ends with the line, over part of the one before: its result is formed before that one is stored.
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

template <Blend blend>
void lines(const PanelWork* work) {
  PanelWork w = *work;
  for (std::int64_t n = w.panels; n > 0; --n, w.x += w.x_next, w.y += w.y_next) copy_lines<blend>(w);
}

template <Blend blend>
void piece(PieceWork* work) {
  double* x = work->x;
  const double* from = work->piece;
  const std::int32_t* at = work->at;
  const Factors f{1.0, work->beta};
  std::int64_t n = work->count;
  const auto single = [&] {
    if constexpr (blend == Blend::update)
      *x = *from + f.beta * *x;
    else if constexpr (blend == Blend::add)
      *x = *from + *x;
    else
      *x = *from;
    ++x, ++from, --n;
  };
  while (n > 0 && (reinterpret_cast<std::uintptr_t>(x) & 63) != 0) single();
  for (; n >= 8; n -= 8, x += 8, from += 8) {
    if (at != work->at_end) __builtin_prefetch(work->y_soon + *at++, 0, 2);
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
  while (n > 0) single();
  work->at = at;
}

template <Blend blend>
void add(PermuteKit& kit) {
  constexpr auto k = static_cast<std::size_t>(blend);
  kit.turned[k] = {turned<blend, false>, turned<blend, true>};
  kit.lines[k] = lines<blend>;
  if constexpr (blend != Blend::scale) kit.piece[k] = piece<blend>;
}

}  // namespace

PermuteKit builtin_permute(const CpuFacts& facts) {
  if (facts.vector_bits < 256) return portable_permute();
  PermuteKit kit;
  kit.vector_bits = 256;
  kit.streams = true;
  add<Blend::copy>(kit);
  add<Blend::scale>(kit);
  add<Blend::add>(kit);
  add<Blend::update>(kit);
  return kit;
}

}  // namespace sial::kernels
