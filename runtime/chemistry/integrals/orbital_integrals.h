#pragma once
// Integrals over the orbitals that an SCF program left, from those over basis functions, on one rank: for files that
// other programs read.

#include "runtime/chemistry/files/saved_orbitals.h"
#include "runtime/chemistry/molecule/hamiltonian.h"
#include "runtime/core/job/job_data.h"

namespace sial {

/// Bytes that integrals over the orbitals of a job take while they are made, at most.
double bytes_of_orbital_integrals(const JobData& job);

/// Those saved as "c", x[ao, mo], of a closed shell; their energies are known where the Fock matrix is there, as
/// "fock_mo". The frozen core of the job's molecule is doubly occupied and part of the core energy and of h;
/// orbitals that are zero, of functions that the SCF left out, are not there. Memory: 2 n^4 bytes for n functions.
/// Throws SialError where the orbitals are not there, or do not belong to the job.
InputHamiltonian integrals_over_orbitals(const JobData& job, const SavedStatics& saved);

}  // namespace sial
