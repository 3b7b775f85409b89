#pragma once
// The group /molecule of results files (results.h).

#include <string>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/job/hdf5_file.h"

namespace sial {

void write_molecule(Hdf5File& file, const Molecule& molecule);
/// In what the molecule of the job that wrote the file differs from this one: the first of atoms, places, charge,
/// multiplicity, frozen core and basis. Empty: in nothing, or the file does not say.
std::string molecule_difference(const Hdf5File& file, const Molecule& molecule);
/// Likewise in its kinds of atoms and its basis set: what orbitals belong to.
std::string functions_difference(const Hdf5File& file, const Molecule& molecule);

}  // namespace sial
