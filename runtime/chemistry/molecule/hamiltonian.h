#pragma once
// Electrons in orthonormal real orbitals without a molecule: what a job's programs get in place of integrals over basis
// functions. Two-electron integrals are held once, of those that are equal by symmetry one.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/job_data.h"

namespace sial {

/// H = sum h[p,q] E(pq) + 1/2 sum (pq|rs) (E(pq) E(rs) - delta(qr) E(ps)) + core energy. Orbitals are counted from 0.
struct InputHamiltonian {
  std::string file;
  std::int32_t orbitals = 0, electrons = 0, multiplicity = 1;
  double core_energy = 0.0;
  std::vector<double> one;       // h[p,q] at pair(p, q)
  std::vector<double> two;       // (pq|rs) at pair(pair(p, q), pair(r, s))
  std::vector<double> energies;  // of the orbitals; empty where they are not known

  /// Where the unordered pair stands among all.
  static std::size_t pair(std::size_t p, std::size_t q) {
    if (p < q) std::swap(p, q);
    return p * (p + 1) / 2 + q;
  }
  double repulsion(std::size_t p, std::size_t q, std::size_t r, std::size_t s) const {
    return two[pair(pair(p, q), pair(r, s))];
  }
};

/// Bytes of `two` for so many orbitals.
double packed_bytes(std::int32_t orbitals);

/// One function with unit norm per orbital, no nuclei, and the electrons as a negative charge: segments and predefined
/// values follow from it as from a molecule.
Molecule orbitals_as_functions(const InputHamiltonian& hamiltonian);

/// The predefined arrays given_one_electron[p,q], given_integrals[p,q,r,s] = (pq|rs), which is made part by part, and,
/// where they are known, given_orbital_energies[p].
void give_arrays(const std::shared_ptr<const InputHamiltonian>& hamiltonian, JobData& data);

}  // namespace sial
