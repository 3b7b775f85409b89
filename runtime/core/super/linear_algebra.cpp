// Dense linear algebra on whole static arrays (or single blocks), through LAPACK.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include <fmt/format.h>
#include <lapacke.h>

#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"
#include "runtime/core/super/dense_algebra.h"
#include "runtime/core/super/diis.h"

extern "C" void dgemm_(const char* transpose_a, const char* transpose_b, const lapack_int* m, const lapack_int* n,
                       const lapack_int* k, const double* alpha, const double* a, const lapack_int* lda,
                       const double* b, const lapack_int* ldb, const double* beta, double* c, const lapack_int* ldc);

namespace sial {

std::optional<std::vector<double>> diagonalise(std::int64_t n, double* matrix) {
  std::vector<double> values(n);
  if (n == 0) return values;
  if (LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'L', static_cast<lapack_int>(n), matrix, static_cast<lapack_int>(n),
                    values.data()) != 0)
    return std::nullopt;
  for (std::int64_t j = 0; j < n; ++j) {
    double* v = matrix + j * n;
    const double* first = std::find_if(v, v + n, [](double x) { return std::abs(x) > 1e-5; });
    if (first != v + n && *first < 0.0) std::transform(v, v + n, v, std::negate<>());
  }
  return values;
}

void multiply_matrices(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                       const double* a, const double* b, double beta, double* c) {
  if (m == 0 || n == 0) return;
  const lapack_int rows = static_cast<lapack_int>(m), columns = static_cast<lapack_int>(n),
                   inner = static_cast<lapack_int>(k);
  const lapack_int lda = std::max<lapack_int>(1, transpose_a ? inner : rows),
                   ldb = std::max<lapack_int>(1, transpose_b ? columns : inner);
  const double one = 1.0;
  dgemm_(transpose_a ? "T" : "N", transpose_b ? "T" : "N", &rows, &columns, &inner, &one, a, &lda, b, &ldb, &beta, c,
         &rows);
}

bool are_orthonormal(std::int64_t n, std::int64_t orbitals, const double* c, const double* product) {
  std::vector<double> norms(static_cast<std::size_t>(orbitals * orbitals));
  multiply_matrices(true, false, orbitals, orbitals, n, c, product, 0.0, norms.data());
  for (std::int64_t p = 0; p < orbitals; ++p)
    for (std::int64_t q = 0; q < orbitals; ++q)
      if (!(std::abs(norms[static_cast<std::size_t>(p + orbitals * q)] - (p == q ? 1.0 : 0.0)) < 1e-6)) return false;
  return true;
}

namespace {

std::int64_t require_square(const SuperArg& a, int position) {
  if (a.shape.rank != 2 || a.shape.extent[0] != a.shape.extent[1])
    throw SialError(fmt::format("{} is not a square matrix", describe(a, position)));
  return a.shape.extent[0];
}

void require_finite(const SuperArg& a, int position) {
  if (!std::all_of(a.data, a.data + a.size(), [](double x) { return std::isfinite(x); }))
    throw SialError(fmt::format("{} holds a value that is not a number (NaN or infinite)", describe(a, position)));
}

/// Eigenvalues ascending, eigenvectors into `vectors`; the lower triangle of `matrix` counts.
std::vector<double> symmetric_eigenvectors(const SuperArg& matrix, const SuperArg& vectors) {
  std::int64_t n = require_square(matrix, 0);
  if (require_square(vectors, 1) != n)
    throw SialError(fmt::format("{} and {} differ in size", describe(matrix, 0), describe(vectors, 1)));
  require_finite(matrix, 0);
  std::copy_n(matrix.data, n * n, vectors.data);
  std::optional<std::vector<double>> values = diagonalise(n, vectors.data);
  if (!values) throw SialError(fmt::format("the eigenvalues of {} did not converge", describe(matrix, 0)));
  return *values;
}

void set_diagonal(const SuperArg& a, const std::vector<double>& values) {
  std::fill_n(a.data, a.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) a.data[i * (values.size() + 1)] = values[i];
}

/// Columns of an n x n matrix in the given order.
void reorder_columns(double* matrix, std::int64_t n, const std::vector<std::int64_t>& order) {
  std::vector<double> copy(matrix, matrix + n * n);
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(copy.data() + order[j] * n, n, matrix + j * n);
}

}  // namespace

void super_eigen_calc(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::matrix});
  set_diagonal(args[0], symmetric_eigenvectors(args[0], args[1]));
}

void super_eigen_calc_sqr_inv(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::matrix, Expect::scalar});
  std::vector<double> s = symmetric_eigenvectors(args[0], args[1]);
  auto digits = context.job().ints.find("lindep_tol");
  double threshold = digits == context.job().ints.end() ? 1e-9 : std::pow(10.0, -digits->second);
  std::int64_t n = std::ssize(s), dropped = 0;
  while (dropped < n && s[dropped] < threshold) ++dropped;
  for (std::int64_t i = 0; i < n; ++i) s[i] = i < dropped ? 0.0 : 1.0 / std::sqrt(s[i]);
  if (dropped > 0) {
    // The kept ones by ascending s**-1/2, that is from the largest s, then the dropped ones.
    std::vector<std::int64_t> order(n);
    for (std::int64_t i = 0; i < n; ++i) order[i] = i < n - dropped ? n - 1 - i : i - (n - dropped);
    std::vector<double> sorted(n);
    for (std::int64_t i = 0; i < n; ++i) sorted[i] = s[order[i]];
    reorder_columns(args[1].data, n, order);
    s = std::move(sorted);
  }
  set_diagonal(args[0], s);
  *args[2].data = static_cast<double>(dropped);
}

void super_gen_eigen_calc(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::matrix, Expect::matrix, Expect::block});
  std::int64_t n = require_square(args[0], 0);
  if (require_square(args[1], 1) != n || require_square(args[2], 2) != n ||
      (args[3].size() != n && args[3].size() != n * n))
    throw SialError(
        fmt::format("{}, {}, {} and {} do not fit together", describe(args[0], 0), describe(args[1], 1),
                    describe(args[2], 2), describe(args[3], 3)),
        "a matrix, two matrices for left and right eigenvectors, and a vector (or the diagonal of a matrix) for the eigenvalues");
  require_finite(args[0], 0);
  if (n == 0) return;
  std::vector<double> matrix(args[0].data, args[0].data + n * n), real(n), imaginary(n), left(n * n), right(n * n);
  lapack_int m = static_cast<lapack_int>(n);
  if (LAPACKE_dgeev(LAPACK_COL_MAJOR, 'V', 'V', m, matrix.data(), m, real.data(), imaginary.data(), left.data(), m,
                    right.data(), m) != 0)
    throw SialError(fmt::format("the eigenvalues of {} did not converge", describe(args[0], 0)));
  // LAPACK's two columns of a complex pair are real and imaginary part: they span the space of both, which is what
  // programs go on with. A pair that only rounding made complex is a degenerate eigenvalue, whose second vector must
  // not get lost.
  for (std::int64_t j = 0; j < n; ++j)
    if (imaginary[j] > 1.0)
      context.out() << fmt::format("WARNING: an eigenvalue has imaginary part {:.6f}\n", imaginary[j]);
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  auto last = [&](std::int64_t i) { return std::abs(real[i]) < 1e-12; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return last(a) != last(b) ? last(b) : real[a] < real[b]; });
  reorder_columns(left.data(), n, order);
  reorder_columns(right.data(), n, order);
  std::copy_n(left.data(), n * n, args[1].data);
  std::copy_n(right.data(), n * n, args[2].data);
  std::fill_n(args[3].data, args[3].size(), 0.0);
  std::int64_t step = args[3].size() == n ? 1 : n + 1;
  for (std::int64_t i = 0; i < n; ++i) args[3].data[i * step] = real[order[i]];
}

void super_compute_diis(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix});
  const std::int64_t n = require_square(args[0], 0);
  require_finite(args[0], 0);
  const std::vector<double> c = diis_coefficients(n, args[0].data);
  for (std::int64_t i = 0; i < n; ++i) args[0].data[i * (n + 1)] = c[i];
}

}  // namespace sial
