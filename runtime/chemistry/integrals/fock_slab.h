#pragma once
// The inner loops of a Fock matrix: compiled once for each kind of vectors that a processor may have.

#include <cstdint>

namespace sial {

/// For one pair r, s the integrals are a matrix M[p,q]. Vectors over p (y) and q (z) of exchange, sums of Coulomb.
struct Slab {
  const double* m;
  std::int64_t np, nq;
  const double *us, *ur;  // densities [q,s], [q,r]
  const double *vs, *vr;  // densities [p,s], [p,r]
  double *yr, *ys;        // += M us, M ur: over p, of r and s
  double *zr, *zs;        // += M^T vs, M^T vr: over q, of r and s
};

/// `with_coulomb`: adds m times `density` to `bra` as well, and returns the sum of m times `bra_density`, both over p
/// and q. `exchange` looks at neither matrix, which are as large as M all the same.
struct SlabCode {
  double (*with_coulomb)(const Slab& b, double density, const double* bra_density, double* bra);
  double (*exchange)(const Slab& b, double density, const double* bra_density, double* bra);
};

SlabCode slab_code();           // for this processor
SlabCode slab_code_portable();  // and those it is chosen from
SlabCode slab_code_avx2();
SlabCode slab_code_avx512();

}  // namespace sial
