#pragma once
// Molecules: reading xyz files, elements, electron counts. Coordinates are held in bohr.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

/// CODATA 2010, the value most quantum chemistry programs use; the reference energies of the examples were computed
/// with it.
inline constexpr double bohr_in_angstrom = 0.52917721092;

/// Atomic number of a symbol in any case, 0 when unknown.
std::int32_t atomic_number(std::string_view symbol);
std::string element_symbol(std::int32_t number);
/// The same of an atom's label: an element with a number (`C1`, `H_2`) or an isotope (`D`, `2H`). 0 when unknown.
std::int32_t labelled_element(std::string_view label);

/// A ghost atom has the functions of its element, and neither its nucleus nor its electrons: its charge is 0, its
/// symbol `Gh(O)`.
void make_ghost(Atom& atom);
/// The element whose functions an atom has; 0 for a ghost of none.
std::int32_t element_of(const Atom& atom);
/// Takes what marks a ghost atom, in words of several programs, from its label: whether there was any.
bool take_ghost_mark(std::string_view& label);

/// What the second line of an xyz file says of the electrons.
struct XyzElectrons {
  std::optional<std::int32_t> charge, multiplicity;
  std::optional<double> spin;                                 // `spin=2`: 2S, 2S + 1 or S
  bool speaks_of_charge = false;                              // in words or a form that is not known
  std::optional<std::pair<std::int64_t, std::int64_t>> pair;  // `1 2`, which programs write for charge and multiplicity
};

/// Reads an xyz file (Angstrom). Throws SialError naming file and line; `warnings` gets what looks like a mistake and
/// what is ignored, with its place.
std::vector<Atom> read_xyz(const std::string& path, std::vector<std::string>& warnings,
                           XyzElectrons* electrons = nullptr);

/// Gives a molecule what its xyz file says where the job states nothing else.
void take_electrons(Molecule& molecule, const XyzElectrons& said, bool states_charge, bool states_multiplicity,
                    const std::string& path, std::vector<std::string>& warnings);

/// In Angstrom; 0 for what is no element up to 86.
double covalent_radius(std::int32_t charge);
/// Calls f(k, i, distance in bohr) for the pairs of atoms k < i that are nearer than `reach` bohr, by i, then by k.
void for_each_near_pair(const std::vector<Atom>& atoms, double reach,
                        const std::function<void(std::size_t, std::size_t, double)>& f);
/// A sentence where the distances between the atoms look as if they were in another unit; else empty.
std::string unusual_distances(const std::vector<Atom>& atoms);

/// Numbers of alpha and beta electrons. Throws SialError when charge and multiplicity do not fit the nuclei.
std::pair<std::int32_t, std::int32_t> electron_counts(const Molecule& molecule);

/// Orbitals of the noble-gas cores of all atoms, with the f shell that is full from Hf and Rf on: those that correlated
/// calculations usually leave doubly occupied.
/// Those that a potential replaces are not counted.
std::int32_t chemical_core(const Molecule& molecule);

double nuclear_repulsion(const Molecule& molecule);

}  // namespace sial
