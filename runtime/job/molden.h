#pragma once
// Orbitals as a file in the Molden format, which programs that show orbitals read (G. Schaftenaar, J. H. Noordik, J.
// Comput.-Aided Mol. Des. 14, 123 (2000)): atoms, basis set, coefficients, energies and occupations of what an SCF
// program saved.

#include <map>
#include <string>

#include "runtime/job/job_data.h"

namespace sial {

/// Saved static arrays by label: coefficients x[ao, mo], and the Fock matrix over orbitals, whose diagonal is their
/// energies.
using SavedStatics = std::map<std::string, DataArray>;

/// Labels of the coefficients that a file is made of: "c", or "ca" and "cb" where programs save both.
bool is_orbital_label(const std::string& label);

/// Throws InputError where the format has no place for what the basis set has.
void check_molden(const Molecule& molecule);

/// Text of the file; occupations follow from charge and multiplicity. Throws InputError as check_molden(), and when the
/// orbitals are not there or do not belong to the basis set.
std::string molden_text(const Molecule& molecule, const SavedStatics& saved);

}  // namespace sial
