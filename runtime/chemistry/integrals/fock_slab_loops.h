#pragma once
// For the files that compile the loops of fock_slab.h; nothing else includes it.

#include "runtime/chemistry/integrals/fock_slab.h"

namespace sial {
namespace {

/// Four columns of M at once: what runs over p is read and written once for all of them.
template <bool coulomb>
double run_four(const Slab& b, std::int64_t q, double density, const double* bra_density, double* bra) {
  const double *m0 = b.m + q * b.np, *m1 = m0 + b.np, *m2 = m1 + b.np, *m3 = m2 + b.np;
  const double us0 = b.us[q], us1 = b.us[q + 1], us2 = b.us[q + 2], us3 = b.us[q + 3];
  const double ur0 = b.ur[q], ur1 = b.ur[q + 1], ur2 = b.ur[q + 2], ur3 = b.ur[q + 3];
  const double *d0 = bra_density + q * b.np, *d1 = d0 + b.np, *d2 = d1 + b.np, *d3 = d2 + b.np;
  double *j0 = bra + q * b.np, *j1 = j0 + b.np, *j2 = j1 + b.np, *j3 = j2 + b.np;
  double zr0 = 0.0, zr1 = 0.0, zr2 = 0.0, zr3 = 0.0, zs0 = 0.0, zs1 = 0.0, zs2 = 0.0, zs3 = 0.0, total = 0.0;
#pragma omp simd reduction(+ : zr0, zr1, zr2, zr3, zs0, zs1, zs2, zs3, total)
  for (std::int64_t p = 0; p < b.np; ++p) {
    const double x0 = m0[p], x1 = m1[p], x2 = m2[p], x3 = m3[p], vs = b.vs[p], vr = b.vr[p];
    b.yr[p] += x0 * us0 + x1 * us1 + x2 * us2 + x3 * us3;
    b.ys[p] += x0 * ur0 + x1 * ur1 + x2 * ur2 + x3 * ur3;
    zr0 += x0 * vs, zr1 += x1 * vs, zr2 += x2 * vs, zr3 += x3 * vs;
    zs0 += x0 * vr, zs1 += x1 * vr, zs2 += x2 * vr, zs3 += x3 * vr;
    if constexpr (coulomb) {
      j0[p] += x0 * density, j1[p] += x1 * density, j2[p] += x2 * density, j3[p] += x3 * density;
      total += x0 * d0[p] + x1 * d1[p] + x2 * d2[p] + x3 * d3[p];
    }
  }
  b.zr[q] += zr0, b.zr[q + 1] += zr1, b.zr[q + 2] += zr2, b.zr[q + 3] += zr3;
  b.zs[q] += zs0, b.zs[q + 1] += zs1, b.zs[q + 2] += zs2, b.zs[q + 3] += zs3;
  return total;
}

template <bool coulomb>
double run_one(const Slab& b, std::int64_t q, double density, const double* bra_density, double* bra) {
  const double *m = b.m + q * b.np, *d = bra_density + q * b.np;
  double* j = bra + q * b.np;
  const double us = b.us[q], ur = b.ur[q];
  double zr = 0.0, zs = 0.0, total = 0.0;
#pragma omp simd reduction(+ : zr, zs, total)
  for (std::int64_t p = 0; p < b.np; ++p) {
    const double x = m[p];
    b.yr[p] += x * us;
    b.ys[p] += x * ur;
    zr += x * b.vs[p];
    zs += x * b.vr[p];
    if constexpr (coulomb) {
      j[p] += x * density;
      total += x * d[p];
    }
  }
  b.zr[q] += zr;
  b.zs[q] += zs;
  return total;
}

template <bool coulomb>
double run_slab(const Slab& b, double density, const double* bra_density, double* bra) {
  double sum = 0.0;
  std::int64_t q = 0;
  for (; q + 4 <= b.nq; q += 4) sum += run_four<coulomb>(b, q, density, bra_density, bra);
  for (; q < b.nq; ++q) sum += run_one<coulomb>(b, q, density, bra_density, bra);
  return sum;
}

}  // namespace
}  // namespace sial
