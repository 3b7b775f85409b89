#pragma once
// Dense matrices by LAPACK and BLAS, for bodies that need them beside the instructions of linear_algebra.cpp.
// Column-major, leading dimension = number of rows.

#include <cstdint>
#include <optional>
#include <vector>

namespace sial {

/// Eigenvalues, ascending, of the symmetric matrix whose lower triangle counts; the matrix becomes the eigenvectors,
/// each with its first component above 1e-5 positive. Nothing when LAPACK does not converge.
std::optional<std::vector<double>> diagonalise(std::int64_t n, double* matrix);

/// c(m,n) := a(m,k) b(k,n) + beta c, each factor transposed in memory when its flag says so.
void multiply_matrices(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                       const double* a, const double* b, double beta, double* c);

/// Whether so many orbitals of n functions, the columns of c, are orthonormal to 1e-6. `product`: S c, with the overlap
/// S of the functions.
bool are_orthonormal(std::int64_t n, std::int64_t orbitals, const double* c, const double* product);

}  // namespace sial
