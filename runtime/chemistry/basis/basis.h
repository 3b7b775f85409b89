#pragma once
// Basis sets in Gaussian 94 or NWChem format: finding the file for a name, reading it, and giving each atom its shells.
// Contractions come out normalised (Shell of job_data.h: coefficients of unit-normalised primitives). Effective core
// potentials stand after the shells of all elements, or in a file of their own.

#include <optional>
#include <string>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

/// File for a basis name (any case, `*` for a star) or a path. Names are searched in SIAL_BASIS_PATH (colon separated),
/// then beside the programs, as they are built and installed. Throws SialError listing the folders searched.
std::string find_basis(const std::string& name, const std::string& relative_to);

/// Shells of all atoms in order, from the file. `spherical`: whether functions of l >= 2 are, where somebody has stated
/// it; else they are. Throws SialError naming the file and line, or the elements it lacks. `warnings` gets what looks
/// like a mistake.
std::vector<Shell> read_basis(const std::string& path, const std::vector<Atom>& atoms, std::optional<bool> spherical,
                              std::vector<std::string>* warnings = nullptr);

/// Effective core potentials that the file holds for these atoms, one for each atom that has one.
std::vector<Ecp> read_ecps(const std::string& path, const std::vector<Atom>& atoms);

/// Gives the functions of a shell with one contraction unit norm.
void normalise(Shell& shell);

}  // namespace sial
