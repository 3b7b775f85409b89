// Built-in tiles for processors with AVX-512: this file alone is built with its features, nothing in it runs before
// they are found.

// The intrinsics of GCC 12 begin with vectors that they leave undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "runtime/core/kernels/contraction/pack_vectors.h"
#include "runtime/core/kernels/contraction/tiles_vectors.h"
#include "runtime/core/kernels/permute/transpose_avx512.h"

namespace sial::kernels {
namespace {

struct Avx512 {
  using Vector = __m512d;
  using Mask = __mmask8;
  static constexpr int width = 8;
  __attribute__((always_inline)) static Vector zero() { return _mm512_setzero_pd(); }
  __attribute__((always_inline)) static Vector all(double x) { return _mm512_set1_pd(x); }
  __attribute__((always_inline)) static Vector load(const double* p) { return _mm512_loadu_pd(p); }
  __attribute__((always_inline)) static Vector load(const double* p, Mask mask) {
    return _mm512_maskz_loadu_pd(mask, p);
  }
  __attribute__((always_inline)) static void store(double* p, Vector x) { _mm512_storeu_pd(p, x); }
  __attribute__((always_inline)) static void store(double* p, Mask mask, Vector x) {
    _mm512_mask_storeu_pd(p, mask, x);
  }
  __attribute__((always_inline)) static void stream(double* p, Vector x) { _mm512_stream_pd(p, x); }
  __attribute__((always_inline)) static Vector sum(Vector x, Vector y) { return _mm512_add_pd(x, y); }
  __attribute__((always_inline)) static Vector product(Vector x, Vector y) { return _mm512_mul_pd(x, y); }
  __attribute__((always_inline)) static Vector fused(Vector x, Vector y, Vector z) { return _mm512_fmadd_pd(x, y, z); }
  /// Adds halves, then their halves, ...
  __attribute__((always_inline)) static double total(Vector x) {
    const __m256d four =
        _mm256_add_pd(_mm512_maskz_extractf64x4_pd(0xf, x, 0), _mm512_maskz_extractf64x4_pd(0xf, x, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  __attribute__((always_inline)) static void store_first(double* p, Vector x, std::int64_t lanes) {
    store(p, first(lanes), x);
  }
  __attribute__((always_inline)) static bool consecutive(const std::int64_t* at) {
    const __m512i expected = _mm512_add_epi64(_mm512_set1_epi64(at[0]), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(at), expected) == 0xff;
  }
  /// v[i][j] and v[j][i] exchanged.
  __attribute__((always_inline)) static void turn(Vector (&v)[8]) { transpose_square(v); }
  /// Lanes before this one.
  __attribute__((always_inline)) static Mask first(std::int64_t lanes) {
    return static_cast<Mask>(lanes >= width ? 0xff : (1 << lanes) - 1);
  }
};

void outer(const OuterWork& work) { work.rows < Avx512::width ? outer_avx2(work) : outer_strips<Avx512>(work); }

void vector(const VectorWork& work) {
  work.rows >= Avx512::width ? vector_of_columns<Avx512>(work) : vector_avx2(work);
}

}  // namespace

double inner_avx512(const double* x, const double* y, std::int64_t n) { return inner_by_vectors<Avx512>(x, y, n); }

void widen_tiles(TileKernels& table) {
  table.shape = {Avx512::width, 3, 8, 6, 8};
  add_tiles<Avx512, 8, 6>(table);
  table.pack = pack_by_vectors<Avx512>;
  table.pack_beside = pack_beside<Avx512>;
  table.outer = outer;
  table.vector = vector;
}

}  // namespace sial::kernels
