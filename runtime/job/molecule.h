#pragma once
// Molecules: reading xyz files, elements, electron counts. Coordinates are held in bohr.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/job/job_data.h"

namespace sial {

/// CODATA 2010, the value most quantum chemistry programs use; the reference energies of the examples were computed
/// with it.
inline constexpr double bohr_in_angstrom = 0.52917721092;

/// Atomic number of a symbol in any case, 0 when unknown.
std::int32_t atomic_number(std::string_view symbol);
std::string element_symbol(std::int32_t number);

/// Reads an xyz file (Angstrom). Throws SialError naming file and line; `warnings` gets what looks like a mistake and
/// what is ignored, with its place.
std::vector<Atom> read_xyz(const std::string& path, std::vector<std::string>& warnings);

/// Numbers of alpha and beta electrons. Throws SialError when charge and multiplicity do not fit the nuclei.
std::pair<std::int32_t, std::int32_t> electron_counts(const Molecule& molecule);

/// Orbitals of the noble-gas cores of all atoms, with the f shell that is full from Hf and Rf on: those that correlated
/// calculations usually leave doubly occupied.
/// Those that a potential replaces are not counted.
std::int32_t chemical_core(const Molecule& molecule);

double nuclear_repulsion(const Molecule& molecule);

}  // namespace sial
