#pragma once
// Orbitals that SCF programs of a job saved, for files that other programs read.

#include <map>
#include <string>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/job_data.h"

namespace sial {

/// Saved static arrays by label: coefficients x[ao, mo], and the Fock matrix over orbitals, whose diagonal is their
/// energies.
using SavedStatics = std::map<std::string, DataArray>;

/// Labels of the coefficients that a file is made of: "c", or "ca" and "cb" where programs save both.
bool is_orbital_label(const std::string& label);

/// Those of one spin, or of both. Refers to the arrays that they were found in.
struct SavedOrbitals {
  bool is_beta = false;
  const DataArray* coefficients = nullptr;
  const DataArray* fock = nullptr;
  std::int32_t occupied = 0;
  double occupation = 2.0;  // of the occupied ones

  std::int64_t number() const { return coefficients->extents[1]; }
  double coefficient(std::int64_t function, std::int64_t orbital) const {
    return coefficients->data[static_cast<std::size_t>(orbital * coefficients->extents[0] + function)];
  }
  bool has_energies() const;
  double energy(std::int64_t orbital) const {
    return fock->data[static_cast<std::size_t>(orbital * fock->extents[0] + orbital)];
  }
  double occupation_of(std::int64_t orbital) const { return orbital < occupied ? occupation : 0.0; }
};

/// One entry, or those of alpha and beta. Throws InputError where orbitals are not there, or do not belong to the basis
/// set; `file` says what they are for.
std::vector<SavedOrbitals> saved_orbitals(const Molecule& molecule, const SavedStatics& saved, const std::string& file);

/// Positions of the pure functions m = 0, 1, -1, 2, -2, ... among ours, m = l ... -l.
std::vector<std::int32_t> zonal_first(std::int32_t l);

}  // namespace sial
