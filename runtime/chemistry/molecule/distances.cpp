// What is made of the distances between the atoms of a molecule: the repulsion of the nuclei, and whether they look
// like bonds, whatever the molecule was read from.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"

namespace sial {
namespace {

/// Covalent radii of the elements 1 to 86 in Angstrom: B. Cordero, V. Gomez, A. E. Platero-Prats, M. Reves, J.
/// Echeverria, E. Cremades, F. Barragan, S. Alvarez, Dalton Trans. 2008, 2832; carbon: sp3; manganese, iron, cobalt:
/// low spin.
constexpr double radii[] = {0.31, 0.28, 1.28, 0.96, 0.84, 0.76, 0.71, 0.66, 0.57, 0.58, 1.66, 1.41, 1.21, 1.11, 1.07,
                            1.05, 1.02, 1.06, 2.03, 1.76, 1.70, 1.60, 1.53, 1.39, 1.39, 1.32, 1.26, 1.24, 1.32, 1.22,
                            1.22, 1.20, 1.19, 1.20, 1.20, 1.16, 2.20, 1.95, 1.90, 1.75, 1.64, 1.54, 1.47, 1.46, 1.42,
                            1.39, 1.45, 1.44, 1.42, 1.39, 1.39, 1.38, 1.39, 1.40, 2.44, 2.15, 2.07, 2.04, 2.03, 2.01,
                            1.99, 1.98, 1.98, 1.96, 1.94, 1.92, 1.92, 1.89, 1.90, 1.87, 1.87, 1.75, 1.70, 1.62, 1.51,
                            1.44, 1.41, 1.36, 1.36, 1.32, 1.45, 1.46, 1.48, 1.40, 1.50, 1.50};

/// In units of a usual bond, the sum of two radii. Bonds read in the wrong unit are 1.89 times as long or as short. The
/// longest single bonds (F2) are 1.24 of their sum; oxides of early transition metals are 0.70 of it, and a few metal
/// dimers less.
constexpr double longest = 1.4, longest_in_bohr = 2.5, shortest = 0.69;
constexpr std::size_t max_compared = 1000;  // atoms, each with all others

/// Calls f(k, i, square of the distance in bohr) for the pairs of atoms k < i, of which k is one of the first `most`.
template <class F>
void for_each_pair(const std::vector<Atom>& atoms, std::size_t most, F&& f) {
  std::vector<std::array<double, 3>> at;  // close together in memory
  for (const Atom& atom : atoms) at.push_back(atom.position);
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t k = 0; k < std::min(i, most); ++k) {
      const double x = at[i][0] - at[k][0], y = at[i][1] - at[k][1], z = at[i][2] - at[k][2];
      f(k, i, x * x + y * y + z * z);
    }
}

/// Ghost atoms have none.
double radius_of(const Atom& atom) {
  return atom.charge > 0 ? covalent_radius(atom.charge + atom.core_electrons) : 0.0;
}

/// They are no nearer to each other in any unit.
bool is_noble_gas(const Atom& atom) {
  constexpr std::array gases{2, 10, 18, 36, 54, 86};
  return std::ranges::find(gases, element_of(atom)) != gases.end();
}

}  // namespace

double covalent_radius(std::int32_t charge) {
  return charge < 1 || charge > std::ssize(radii) ? 0.0 : radii[charge - 1];
}

double nuclear_repulsion(const Molecule& m) {
  std::vector<double> charge;
  for (const Atom& atom : m.atoms) charge.push_back(atom.charge);
  double sum = 0.0;
  for_each_pair(m.atoms, m.atoms.size(), [&](std::size_t k, std::size_t i, double square) {
    const double both = charge[i] * charge[k];
    if (both != 0.0) sum += both / std::sqrt(square);  // a ghost may be where another centre is
  });
  return sum;
}

void for_each_near_pair(const std::vector<Atom>& atoms, double reach,
                        const std::function<void(std::size_t, std::size_t, double)>& f) {
  for_each_pair(atoms, atoms.size(), [&](std::size_t k, std::size_t i, double square) {
    if (square < reach * reach) f(k, i, std::sqrt(square));
  });
}

std::string unusual_distances(const std::vector<Atom>& atoms) {
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<double> radius, of_atom(std::min(atoms.size(), max_compared), none);
  for (const Atom& atom : atoms) radius.push_back(radius_of(atom));
  std::tuple<double, std::size_t, std::size_t> nearest{none, 0, 0};
  for_each_pair(atoms, max_compared, [&](std::size_t k, std::size_t i, double square) {
    if (radius[k] == 0.0 || radius[i] == 0.0) return;
    const double ratio = bohr_in_angstrom * std::sqrt(square) / (radius[k] + radius[i]);
    of_atom[k] = std::min(of_atom[k], ratio);
    if (i < of_atom.size()) of_atom[i] = std::min(of_atom[i], ratio);
    nearest = std::min(nearest, {ratio, k, i});
  });
  std::size_t near = 0, far = 0, compared = 0;
  for (std::size_t i = 0; i < of_atom.size(); ++i) {
    compared += std::isfinite(of_atom[i]) ? 1 : 0;
    near += of_atom[i] < shortest ? 1 : 0;
    far += of_atom[i] > longest && of_atom[i] < longest_in_bohr && !is_noble_gas(atoms[i]) ? 1 : 0;
  }
  const bool is_far = far == compared, is_near = 2 * near >= compared;
  if (compared == 0 || (!is_far && !is_near)) return {};
  const auto [ratio, first, second] = nearest;
  const Atom &a = atoms[first], &b = atoms[second];
  return fmt::format(
      "{} (atoms {} ({}) and {} ({}) are {:.3g} Angstrom apart, {:.2f} of a usual bond): is the unit of the coordinates right? xyz files have Angstrom, QCSchema, TREXIO and molecules of the Python package bohr. If the atoms are to lie so, nothing is wrong",
      is_far ? "no two atoms are as near as a bond" : "most atoms are nearer to another than any usual bond", first + 1,
      a.symbol, second + 1, b.symbol, ratio * (radius[first] + radius[second]), ratio);
}

}  // namespace sial
