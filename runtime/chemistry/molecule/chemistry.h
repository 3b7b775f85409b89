#pragma once
// What chemistry knows of a job beside its values, segments and arrays: a molecule with its basis set, or a Hamiltonian
// over orbitals in its place.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/job/job_data.h"

namespace sial {

/// One atom; coordinates in bohr. `charge` is what the electrons of the job feel: the atomic number less the electrons
/// that an effective core potential replaces.
struct Atom {
  std::int32_t charge = 0;
  std::string symbol;
  std::array<double, 3> position{};
  std::int32_t core_electrons = 0;
};

/// One shell with general contraction: coefficient[c * exponents.size() + p] multiplies the unit-normalised primitive
/// p. Function order inside a shell: contraction slow, component fast; Cartesian x-power descending then y; pure m = +l
/// .. -l (l >= 2), p stays x, y, z; every Cartesian monomial has unit norm (runtime/chemistry/super/CONVENTIONS.md).
struct Shell {
  std::int32_t atom = 0;
  std::int32_t l = 0;
  bool pure = true;
  std::vector<double> exponents;
  std::vector<double> coefficients;
  std::int32_t n_contractions = 1;
  std::int32_t n_functions() const { return n_contractions * (pure ? 2 * l + 1 : (l + 1) * (l + 2) / 2); }
};

/// One term of an effective core potential: coefficient r^(power - 2) exp(-exponent r^2), acting on angular momentum l,
/// or as the local part where l is -1.
struct EcpTerm {
  std::int32_t l = -1, power = 2;
  double exponent = 0.0, coefficient = 0.0;
};
struct Ecp {
  std::int32_t atom = 0, electrons = 0;
  std::vector<EcpTerm> terms;
};

struct Molecule {
  std::vector<Atom> atoms;
  std::vector<Shell> shells;  // in AO order
  std::int32_t charge = 0, multiplicity = 1;
  std::int32_t frozen_core = 0;  // orbitals of either spin that correlated programs leave alone
  std::string basis_name;
  std::vector<Ecp> ecps;
  std::int32_t n_basis() const {
    std::int32_t n = 0;
    for (auto& s : shells) n += s.n_functions();
    return n;
  }
};

/// How two-electron integrals are computed: as is faster; by libint; by expansions in Hermite Gaussians.
enum class IntegralCode { automatic, libint, hermite };

/// Numbers of atoms from 1, by fragment; charges by fragment, all 0 when there are none. Without fragments both are
/// empty.
struct FragmentRequest {
  std::vector<std::vector<std::int32_t>> atoms;
  std::vector<std::int32_t> charges;
};

struct InputHamiltonian;

struct Chemistry {
  bool has_molecule = false;
  Molecule molecule;
  FragmentRequest fragments;                            // of the molecule
  std::shared_ptr<const InputHamiltonian> hamiltonian;  // in place of a molecule: integrals over orbitals
};

/// That of a job; the second makes it where there is none.
const Chemistry& chemistry(const JobData& job);
Chemistry& chemistry(JobData& job);

/// Throws SialError when it has none.
const Molecule& require_molecule(const JobData& job);

/// As the option `integrals` says.
IntegralCode integral_code(const JobData& job);

/// By which a checkpoint knows the job again: geometry, basis set, charge and multiplicity, or the integrals.
std::map<std::string, std::string> identity_of_chemistry(const JobData& job);

}  // namespace sial
