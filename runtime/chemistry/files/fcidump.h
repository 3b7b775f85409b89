#pragma once
// FCIDUMP files: integrals over orthonormal orbitals as text (P. J. Knowles, N. C. Handy, Comput. Phys. Commun. 54, 75
// (1989)).

#include <string>
#include <vector>

#include "runtime/chemistry/molecule/hamiltonian.h"
#include "runtime/core/job/job.h"

namespace sial {

/// Throws InputError with `where` = file:line:column for everything that is wrong: also integrals that are complex or
/// differ between the spins, elements with two values, a file without the energy of the core, which ends it. `warnings`
/// gets what is left out, with its place.
InputHamiltonian read_fcidump(const std::string& path, std::vector<std::string>& warnings);

/// Writes each element once; those up to 1e-15 are left out. Throws EnvironmentError.
void write_fcidump(const InputHamiltonian& hamiltonian, const std::string& path);

/// The job has this Hamiltonian in place of a molecule.
void take_fcidump(Job& job, const std::string& path);

}  // namespace sial
