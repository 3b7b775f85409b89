#pragma once
// What pairs of shells remember of their products: expansions in Hermite Gaussians (hermite_code.h). Shells on one
// centre with the same exponents, as the s and p of a row of Pople's or the contractions of a general one, are a
// family: they share all that depends on exponents.

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/chemistry/integrals/function_range.h"
#include "runtime/chemistry/integrals/hermite_code.h"

namespace sial {

/// One contraction of Gaussians. A function is the sum over Cartesian ones, x^l first, of `transform`
/// [function][Cartesian] times x^i y^j z^k times the sum of coefficient exp(-exponent r^2).
struct GaussianShell {
  std::array<double, 3> center{};
  int l = 0;
  std::vector<double> exponents, coefficients, transform;
  std::int64_t first = 0, count = 0;  // its functions
};

struct ShellFamily {
  int l = 0;  // the largest
  std::vector<std::size_t> shells;
};

/// The families of shells [begin, end).
std::vector<ShellFamily> shell_families(const std::vector<GaussianShell>& shells, std::size_t begin, std::size_t end);

/// All products of functions of two families; of a family with itself each once.
struct HermitePair {
  struct Function {
    std::int64_t first, second;
    std::size_t shell_a, shell_b;
  };  // numbers among all functions

  int l = 0;
  std::vector<Function> functions;
  std::int64_t columns = 0;              // functions, padded
  std::vector<double> p, x, y, z;        // of the primitive pairs kept
  std::vector<double> primitive_bounds;  // upper estimates of their own sqrt (ij|ij)
  std::vector<double> rows;              // [function][primitive][Hermite]
  std::vector<double> blocks;            // [Hermite][primitive][column], with the sign (-1)^order
  std::vector<std::int64_t> limits;      // for each four columns: primitives from there on are zero in all of them
  double bound = 0.0;                    // sqrt of the largest (ij|ij)
  std::array<std::size_t, 2> family{};   // among those of its ranges
  std::vector<std::int64_t> place,
      place_transposed;  // of the functions, in a block over its ranges, or over these in the other order

  /// So many of the first primitive pairs that all with a bound of at least `threshold` are among them.
  std::int64_t primitives_above(double threshold) const;
  std::int64_t primitives() const { return static_cast<std::int64_t>(p.size()); }
  PrimitivePairs primitive_pairs(std::int64_t count) const { return {p.data(), x.data(), y.data(), z.data(), count}; }
  std::int64_t bytes() const { return static_cast<std::int64_t>((rows.size() + blocks.size()) * sizeof(double)); }
};

/// Primitive pairs whose own sqrt (ij|ij) is below `threshold` are left out. `same`: a family with itself.
HermitePair make_hermite_pair(const std::vector<GaussianShell>& shells, const ShellFamily& a, const ShellFamily& b,
                              bool same, double threshold);

/// Number of the Hermite Gaussian of orders t, u, v: by their sum first.
constexpr std::int32_t hermite_number(int t, int u, int v) {
  const int order = t + u + v;
  return static_cast<std::int32_t>(n_hermites(order - 1)) + (order - t) * (order - t + 1) / 2 + v;
}

/// Steps (hermite_code.h) to all of order up to l.
std::vector<HermiteStep> hermite_steps(int l);
/// [n_hermites(l)][n_hermites(l)]: the number of the Hermite Gaussian whose orders are the sums of two others'.
std::vector<std::int32_t> hermite_sums(int l);

}  // namespace sial
