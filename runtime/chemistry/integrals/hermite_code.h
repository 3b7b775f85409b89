#pragma once
// The inner loops of two-electron integrals over Hermite Gaussians: compiled once for each kind of vectors that a
// processor may have.
//
// A charge distribution, the product of two basis functions, is a sum of Hermite Gaussians, derivatives by P of exp(-p
// |r - P|^2): (L. E. McMurchie and E. R. Davidson, J. Comput. Phys. 26, 218 (1978)). So (ab|cd) is E R E^T, where R
// holds the integrals R[t+t',u+u',v+v'] over Hermite Gaussians of two primitive pairs, the same for all functions of
// these exponents, and E what each pair of shells can remember (F. Neese, J. Comput. Chem. 44, 381 (2023)).

#include <array>
#include <cstdint>

namespace sial {

/// Columns, of function pairs, are padded to multiples of the first; lanes, combinations of a primitive of the bra with
/// one of the ket, to multiples of the second.
inline constexpr std::int64_t column_padding = 4, lane_padding = 8;

/// Hermite Gaussians of order up to l.
constexpr std::int64_t n_hermites(int l) { return static_cast<std::int64_t>(l + 1) * (l + 2) * (l + 3) / 6; }

/// Primitive pairs: exponents, centres.
struct PrimitivePairs {
  const double *p, *x, *y, *z;
  std::int64_t count;
};

/// How one integral follows from those of lower order: component `direction` of P - Q times number `first`, and, unless
/// `factor` is zero, `factor` times number `second`.
struct HermiteStep {
  std::int32_t direction = 0, first = 0, second = 0;
  double factor = 0.0;
};

/// R over all Hermite Gaussians of order up to l, for all lanes: `r` [number][lane], `work` for l + 8 times the lanes.
struct HermiteJob {
  PrimitivePairs bra, ket;
  int l;
  std::int64_t lanes;        // bra.count * ket.count, padded
  const double* boys;        // boys_table(l)
  const HermiteStep* steps;  // ordered by order
  double *r, *work;
};

/// out[row][column] (+)= sum over blocks b and k < length of a[row, b][k] * e[b][k][column], for columns padded. Rows
/// come in groups: a[row, b] of member m of group g is found at values + g * group_step + index[m * index_stride + b] *
/// step, and e[b] at e + b * e_step. With `limits`, one for each four columns, e[b][k] is zero there from k = limit
/// on.
struct ContractJob {
  const double* values;
  std::int64_t groups, members, group_step;
  const std::int32_t* index;
  std::int64_t index_stride, step;
  std::int64_t blocks, length;
  const double* e;
  std::int64_t e_step, columns;
  const std::int64_t* limits;  // or null
  double* out;
  bool add;
};

struct HermiteCode {
  void (*integrals)(const HermiteJob& job);
  void (*contract)(const ContractJob& job);
};

HermiteCode hermite_code();           // for this processor
HermiteCode hermite_code_portable();  // and those it is chosen from
HermiteCode hermite_code_avx2();
HermiteCode hermite_code_avx512();

}  // namespace sial
