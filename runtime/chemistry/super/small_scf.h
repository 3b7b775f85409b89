#pragma once
// A whole unrestricted SCF inside one super instruction, on one rank: for an atom or a fragment, whose matrices are
// small. Direct summation over shell quartets, integrals kept in memory while they fit.

#include <cstdint>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

struct SpinMatrices {
  std::vector<double> alpha, beta;
};

/// Column-major n x n matrices over the functions of the molecule given.
struct SmallScf {
  std::int64_t n = 0;
  SpinMatrices density, orbitals, fock;
  double energy = 0.0;  // with the repulsion of the nuclei
  bool converged = false;
};

/// Unrestricted Hartree-Fock with the given numbers of electrons, lowest orbitals occupied, from the core Hamiltonian.
/// Where the functions of one shell are equivalent (an atom), the first are occupied first: the result does not depend
/// on rounding. Effective core potentials of the molecule act.
SmallScf small_uhf(const Molecule& molecule, std::int32_t n_alpha, std::int32_t n_beta);

}  // namespace sial
