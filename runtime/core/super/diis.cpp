#include "runtime/core/super/diis.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "runtime/core/super/dense_algebra.h"

namespace sial {
namespace {

/// Directions in which error vectors of norm 1 differ by less than the square root of this are not told apart. Well
/// above what rounding leaves of an eigenvalue that is zero (1e-15), well below those of vectors that an iteration
/// still gains from.
constexpr double smallest_eigenvalue = 1e-10;
/// The bound for the parts of all vectors in the combined error together, beside the length of the shortest.
constexpr double largest_parts = 20.0;
/// Beside a squared norm this small, products are those of a vector that is zero.
constexpr double no_product = 1e-140;

class Products {
 public:
  Products(std::int64_t n, const double* values) : n_(n), values_(values) {}
  double at(std::int64_t i, std::int64_t j) const { return values_[std::min(i, j) + std::max(i, j) * n_]; }
  double norm2(std::int64_t i) const { return at(i, i); }
  /// Rows up to the last one with a value.
  std::int64_t filled() const {
    for (std::int64_t i = n_; i-- > 0;)
      for (std::int64_t j = 0; j < n_; ++j)
        if (at(i, j) != 0.0) return i + 1;
    return 0;
  }
  bool vanishes(std::int64_t i) const {
    if (norm2(i) != 0.0) return false;
    for (std::int64_t j = 0; j < n_; ++j)
      if (std::abs(at(i, j)) > no_product * std::sqrt(std::abs(norm2(j)))) return false;
    return true;
  }

 private:
  std::int64_t n_;
  const double* values_;
};

/// The combination y with the shortest error, unless it is made of parts that are far longer than the shortest vector
/// and cancel each other. A vector's part is its coefficient times its norm, and the parts stay in whatever the errors
/// do not show: in the occupied and virtual blocks of Fock matrices whose occupied-virtual blocks are the errors. An
/// addition to the eigenvalues weighs them against the error, no larger than need be.
std::vector<double> bounded_combination(const std::vector<double>& vectors, const std::vector<double>& eigenvalues,
                                        const std::vector<double>& w) {
  const std::size_t m = w.size();
  for (double added = 0.0;; added = std::max(2.0 * added, smallest_eigenvalue)) {
    std::vector<double> y(m, 0.0);
    for (std::size_t k = 0; k < m; ++k) {
      const double* v = vectors.data() + k * m;
      const double part =
          std::inner_product(v, v + m, w.begin(), 0.0) / (std::max(eigenvalues[k], smallest_eigenvalue) + added);
      for (std::size_t i = 0; i < m; ++i) y[i] += part * v[i];
    }
    double total = 0.0, parts = 0.0;
    for (std::size_t i = 0; i < m; ++i) {
      total += w[i] * y[i];
      parts += std::abs(y[i]);
    }
    if (parts <= largest_parts * total || added > 1e3) return y;
  }
}

std::vector<double> one_vector(std::int64_t n, std::int64_t which) {
  std::vector<double> c(n, 0.0);
  if (which < n) c[which] = 1.0;
  return c;
}

}  // namespace

std::vector<double> diis_coefficients(std::int64_t n, const double* products) {
  const Products b(n, products);
  const std::int64_t filled = b.filled();
  if (filled == 0) return one_vector(n, 0);  // all errors are zero; of the places the first is filled in any case
  std::vector<std::int64_t> used;            // what has a norm
  std::int64_t best = filled - 1;            // the shortest, the last among equals
  for (std::int64_t i = filled; i-- > 0;) {
    if (b.vanishes(i)) return one_vector(n, i);  // a vector without error: nothing to combine
    if (b.norm2(i) > 0.0) used.insert(used.begin(), i);
    if (std::abs(b.norm2(i)) < std::abs(b.norm2(best))) best = i;
  }
  const std::int64_t m = std::ssize(used);
  if (m == 0) return one_vector(n, best);

  // Errors shrink by many orders of magnitude while they are collected: the unknowns are the coefficients of vectors of
  // norm 1, y, in units in which the shortest has weight 1. They make y^T A y least, A being the cosines, at w^T y = 1:
  // y is along A^-1 w. Eigenvalues of A that are rounding, or negative by it, become the smallest one that counts.
  std::vector<double> norm(m), w(m), cosines(m * m);
  for (std::int64_t i = 0; i < m; ++i) norm[i] = std::sqrt(b.norm2(used[i]));
  const double shortest = *std::min_element(norm.begin(), norm.end());
  for (std::int64_t i = 0; i < m; ++i) {
    w[i] = shortest / norm[i];
    for (std::int64_t j = 0; j < m; ++j)
      cosines[i + j * m] = i == j ? 1.0 : std::clamp(b.at(used[i], used[j]) / norm[i] / norm[j], -1.0, 1.0);
  }
  const std::optional<std::vector<double>> eigenvalues = diagonalise(m, cosines.data());
  if (!eigenvalues) return one_vector(n, best);
  const std::vector<double> y = bounded_combination(cosines, *eigenvalues, w);
  double sum = 0.0;
  for (std::int64_t i = 0; i < m; ++i) sum += y[i] * w[i];
  std::vector<double> c(n, 0.0);
  for (std::int64_t i = 0; i < m; ++i) c[used[i]] = y[i] * w[i] / sum;
  return c;
}

}  // namespace sial
