#pragma once
// Squares of elements transposed in registers, for the files that are built for processors with AVX-512.

#include <immintrin.h>

namespace sial::kernels {

/// v[i][j] and v[j][i] exchanged.
__attribute__((always_inline)) inline void transpose_square(__m512d (&v)[8]) {
  __m512d t[8];
#pragma GCC unroll 4
  for (int k = 0; k < 8; k += 2) {
    t[k] = _mm512_unpacklo_pd(v[k], v[k + 1]);
    t[k + 1] = _mm512_unpackhi_pd(v[k], v[k + 1]);
  }
#pragma GCC unroll 2
  for (int h = 0; h < 8; h += 4)
#pragma GCC unroll 2
    for (int k = h; k < h + 2; ++k) {
      v[k] = _mm512_shuffle_f64x2(t[k], t[k + 2], 0x88);
      v[k + 2] = _mm512_shuffle_f64x2(t[k], t[k + 2], 0xdd);
    }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    t[k] = _mm512_shuffle_f64x2(v[k], v[k + 4], 0x88);
    t[k + 4] = _mm512_shuffle_f64x2(v[k], v[k + 4], 0xdd);
  }
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) v[k] = t[k];
}

}  // namespace sial::kernels
