#pragma once
// Mulliken's population analysis (R. S. Mulliken, J. Chem. Phys. 23, 1833 (1955)) of what an SCF program left.

#include <vector>

#include "runtime/chemistry/files/saved_orbitals.h"
#include "runtime/core/job/job_data.h"

namespace sial {

/// q[A] = Z[A] - sum over functions mu of atom A and nu of P[mu,nu] S[nu,mu], of each atom, in units of e. P is the
/// density of the orbitals saved as "c" (doubly occupied), or "ca" and "cb". Empty: the job has no molecule with a
/// basis set, no such orbitals, those of both kinds, or what was saved under these labels is not orthonormal orbitals
/// of it.
std::vector<double> mulliken_charges(const JobData& job, const SavedStatics& saved);

}  // namespace sial
