#pragma once
// Squares of elements transposed in registers, for the files that are built for processors with AVX2.

#include <immintrin.h>

namespace sial::kernels {

/// v[i][j] and v[j][i] exchanged.
__attribute__((always_inline)) inline void transpose_square(__m256d (&v)[4]) {
  const __m256d ab0 = _mm256_unpacklo_pd(v[0], v[1]), ab1 = _mm256_unpackhi_pd(v[0], v[1]),
                cd0 = _mm256_unpacklo_pd(v[2], v[3]), cd1 = _mm256_unpackhi_pd(v[2], v[3]);
  v[0] = _mm256_permute2f128_pd(ab0, cd0, 0x20);
  v[1] = _mm256_permute2f128_pd(ab1, cd1, 0x20);
  v[2] = _mm256_permute2f128_pd(ab0, cd0, 0x31);
  v[3] = _mm256_permute2f128_pd(ab1, cd1, 0x31);
}

}  // namespace sial::kernels
