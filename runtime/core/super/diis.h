#pragma once
// DIIS: the combination of remembered vectors whose error is smallest (P. Pulay, Chem. Phys. Lett. 73, 393 (1980)).

#include <cstdint>
#include <vector>

namespace sial {

/// n coefficients of sum 1 for the n x n matrix of the error vectors' products, of which the upper triangle counts:
/// those that make the norm of the combined error least, as far as no long vectors need to cancel each other for it.
/// Rows of zeros after the last other one are places not yet filled; their coefficient is 0. The values must be
/// finite. There is always a result, also where the equations have no unique solution or the products are no more than
/// rounding: every coefficient is then bounded, and the combined error is no larger than that of the best vector.
std::vector<double> diis_coefficients(std::int64_t n, const double* products);

}  // namespace sial
