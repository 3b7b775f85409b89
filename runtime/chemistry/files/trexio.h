#pragma once
// Molecules and orbitals as a TREXIO file (E. Posenitskiy et al., J. Chem. Phys. 158, 174801 (2023)): its groups
// nucleus, electron, basis, ao, ecp and mo as plain values, and what they are of ours. The library is trexio_file.h's.
//
// A function of the format is N(ao) N(shell) sum of c f exp(-a r^2) times x^i y^j z^k, or times a real solid harmonic
// with the factor 1 before z^l, m = 0, 1, -1, ... (also of p functions).

#include <optional>
#include <string>
#include <vector>

#include "runtime/chemistry/files/saved_orbitals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/job_data.h"

namespace sial {

struct TrexioData {
  std::vector<double> nucleus_charge, nucleus_coord;  // coordinates of an atom one after the other
  std::vector<std::string> nucleus_label;
  double repulsion = 0.0;
  std::optional<std::int32_t> up, down, electrons;
  std::string basis_type = "Gaussian";
  std::vector<std::int32_t> shell_nucleus, shell_l;
  std::vector<double> shell_factor;
  std::vector<std::int32_t> primitive_shell;
  std::vector<double> exponent, coefficient, primitive_factor;
  bool cartesian = false;
  std::vector<std::int32_t> ao_shell;
  std::vector<double> ao_normalization;
  std::vector<std::int32_t> ecp_max_l_plus_1, ecp_core;  // of all nuclei; empty: there are no potentials
  std::vector<std::int32_t> ecp_nucleus, ecp_l, ecp_power;
  std::vector<double> ecp_exponent, ecp_coefficient;
  std::vector<double> mo_coefficient;  // the functions of an orbital one after the other
  std::vector<double> mo_energy;       // may be empty
  std::vector<double> mo_occupation;
  std::vector<std::int32_t> mo_spin;  // 0 alpha or both, 1 beta
  std::vector<std::string> mo_class;  // Core, Inactive, Virtual
  std::string mo_type, description;
};

/// Throws InputError where the format has no place for what the basis set has.
void check_trexio(const Molecule& molecule);

/// Throws InputError as check_trexio() and saved_orbitals(). Orbitals that are zero, of functions that an SCF left out,
/// are left out.
TrexioData trexio_data(const Molecule& molecule, const SavedStatics& saved);

/// Atoms, basis set and potentials; charge and multiplicity where the file has numbers of electrons. Throws InputError
/// naming the file for what does not fit together.
Molecule trexio_molecule(const TrexioData& data, const std::string& path);

/// Orbitals of the file over the functions of its molecule, by spin, c[ao, mo] with those of highest occupation first
/// and zeros after the last. Empty: it has none, or none of real finite coefficients for all functions.
std::vector<DataArray> trexio_orbitals(const TrexioData& data, const Molecule& molecule);

}  // namespace sial
