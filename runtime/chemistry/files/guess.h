#pragma once
// Orbitals that SCF programs begin with.

#include "runtime/core/job/job.h"

namespace sial {

/// Orbitals of one spin, or of alpha and beta, that SCF programs begin with: they find them as "guess_a" and "guess_b".
void set_guess(Job& job, const DataArray& alpha, const DataArray& beta);
/// Those of `guess_path`, or a warning why not. Throws InputError for a file that is no results file.
void take_guess(Job& job);

}  // namespace sial
