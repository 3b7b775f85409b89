// Built-in permutations for processors with AVX-512: this file alone is built with its features, nothing in it runs
// before they are found.

// The intrinsics of GCC 12 begin with vectors that they leave undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <cstdint>

#include "runtime/core/kernels/interface/permute_code.h"
#include "runtime/core/kernels/permute/transpose_avx512.h"

namespace sial::kernels {
namespace {

constexpr std::int64_t side = 8;

struct Factors512 {
  __m512d alpha, beta;
  explicit Factors512(const PanelWork& w) : alpha(_mm512_set1_pd(w.alpha)), beta(_mm512_set1_pd(w.beta)) {}
};

template <Blend blend>
__attribute__((always_inline)) inline __m512d blended(const double* to, __m512d from, const Factors512& f) {
  if constexpr (blend != Blend::copy) from = _mm512_mul_pd(f.alpha, from);
  if constexpr (blend == Blend::add) from = _mm512_add_pd(from, _mm512_load_pd(to));
  if constexpr (blend == Blend::update) from = _mm512_add_pd(from, _mm512_mul_pd(f.beta, _mm512_load_pd(to)));
  return from;
}

struct Square {
  __m512d v[8];
};

/// Eight rows of eight, transposed. Lines are read as a whole: one that is still on its way is waited for once.
__attribute__((always_inline)) inline Square turn(const double* y, std::int64_t step) {
  Square square;
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) square.v[k] = _mm512_loadu_pd(y + k * step);
  transpose_square(square.v);
  return square;
}

/// Whether vectors of eight are whole lines on both sides: others cross from line to line, those of four every other
/// time.
bool in_lines(const PanelWork& w) {
  const std::uintptr_t places = reinterpret_cast<std::uintptr_t>(w.x) | reinterpret_cast<std::uintptr_t>(w.y);
  const std::int64_t steps = w.x_step | w.y_step | (w.panels > 1 ? w.x_next | w.y_next : 0);
  return places % (side * sizeof(double)) == 0 && steps % side == 0;
}

/// Whole squares. What they would leave over costs more in vectors of eight than all in vectors of four.
template <Blend blend, bool along_x>
void transposed512(const PanelWork* work) {
  const PanelWork& w = *work;
  if (w.length % side != 0 || w.count % side != 0 || !in_lines(w)) return transposed_avx2<blend, along_x>(work);
  const Factors512 f(w);
  double* x = w.x;
  const double* y = w.y;
  const auto square = [&](std::int64_t i, std::int64_t j) __attribute__((always_inline)) {
    const Square t = turn(y + j + i * w.y_step, w.y_step);
    double* to = x + i + j * w.x_step;
#pragma GCC unroll 8
    for (int k = 0; k < side; ++k, to += w.x_step) _mm512_store_pd(to, blended<blend>(to, t.v[k], f));
  };
  for (std::int64_t n = w.panels; n > 0; --n, x += w.x_next, y += w.y_next) {
    if constexpr (along_x) {
      for (std::int64_t j = 0; j < w.count; j += side)
        for (std::int64_t i = 0; i < w.length; i += side) square(i, j);
    } else {
      for (std::int64_t i = 0; i < w.length; i += side)
        for (std::int64_t j = 0; j < w.count; j += side) square(i, j);
    }
  }
}

template <Blend blend>
void lines512(const PanelWork* work) {
  const PanelWork& w = *work;
  if (w.length % side != 0 || !in_lines(w)) return lines_avx2<blend>(work);
  const Factors512 f(w);
  for (std::int64_t n = 0; n < w.panels; ++n) {
    double* x = w.x + n * w.x_next;
    const double* y = w.y + n * w.y_next;
    for (std::int64_t j = w.count; j > 0; --j, x += w.x_step, y += w.y_step)
      for (std::int64_t i = 0; i < w.length; i += side)
        _mm512_store_pd(x + i, blended<blend>(x + i, _mm512_load_pd(y + i), f));
  }
}

template <Blend blend>
void stream_transposed512(const PanelWork* work, const double* soon) {
  const PanelWork& w = *work;
  const Factors512 f(w);
  const auto stream = [&](double* to, __m512d from)
                          __attribute__((always_inline)) { _mm512_stream_pd(to, blended<blend>(nullptr, from, f)); };
  for (std::int64_t n = 0; n < w.panels; ++n, soon += w.y_next) {
    double* x = w.x + n * w.x_next;
    const double* y = w.y + n * w.y_next;
    std::int64_t j = 0;
    for (; j + side <= w.count; j += side) {
      for (std::int64_t k = 0; k < side; ++k) __builtin_prefetch(soon + j + k * w.y_step, 0, 2);
      const Square t = turn(y + j, w.y_step);
#pragma GCC unroll 8
      for (int k = 0; k < side; ++k) stream(x + (j + k) * w.x_step, t.v[k]);
    }
    const __m512i rows = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(w.y_step));
    for (; j < w.count; ++j) stream(x + j * w.x_step, _mm512_i64gather_pd(rows, y + j, sizeof(double)));
  }
}

template <Blend blend>
void stream_lines512(const PanelWork* work, const double* soon) {
  const PanelWork& w = *work;
  const Factors512 f(w);
  for (std::int64_t n = 0; n < w.panels; ++n)
    for (std::int64_t j = 0; j < w.count; ++j) {
      const std::int64_t at = n * w.y_next + j * w.y_step;
      double* x = w.x + n * w.x_next + j * w.x_step;
      for (std::int64_t i = 0; i < w.length; i += side) {
        __builtin_prefetch(soon + at + i, 0, 2);
        _mm512_stream_pd(x + i, blended<blend>(nullptr, _mm512_loadu_pd(w.y + at + i), f));
      }
    }
}

template <Blend blend>
void widen(PermuteKernels& table) {
  constexpr auto k = static_cast<std::size_t>(blend);
  table.transposed[k] = {transposed512<blend, false>, transposed512<blend, true>};
  table.lines[k] = lines512<blend>;
  if constexpr (blend == Blend::copy || blend == Blend::scale) {
    table.stream_transposed[k] = stream_transposed512<blend>;
    table.stream_lines[k] = stream_lines512<blend>;
  }
}

}  // namespace

void widen_permute(PermuteKernels& table) {
  table.vector_bits = 512;
  widen<Blend::copy>(table);
  widen<Blend::scale>(table);
  widen<Blend::add>(table);
  widen<Blend::update>(table);
}

}  // namespace sial::kernels
