#pragma once
// Orbitals as a file in the Molden format, which programs that show orbitals read (G. Schaftenaar, J. H. Noordik, J.
// Comput.-Aided Mol. Des. 14, 123 (2000)): atoms, basis set, coefficients, energies and occupations of what an SCF
// program saved.

#include <string>

#include "runtime/chemistry/files/saved_orbitals.h"
#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

/// Throws InputError where the format has no place for what the basis set has.
void check_molden(const Molecule& molecule);

/// Text of the file; occupations follow from charge and multiplicity. Throws InputError as check_molden(), and when the
/// orbitals are not there or do not belong to the basis set.
std::string molden_text(const Molecule& molecule, const SavedStatics& saved);

}  // namespace sial
