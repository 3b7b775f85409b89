#include "runtime/job/molecule.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace sial {
namespace {

constexpr const char* symbols[] = {
    "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",  "S",  "Cl", "Ar",
    "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
    "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I",  "Xe",
    "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf",
    "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn"};

}  // namespace

std::int32_t atomic_number(std::string_view symbol) {
  for (std::size_t i = 0; i < std::size(symbols); ++i) {
    std::string_view s = symbols[i];
    if (s.size() == symbol.size() &&
        std::equal(s.begin(), s.end(), symbol.begin(),
                   [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }))
      return static_cast<std::int32_t>(i) + 1;
  }
  return 0;
}

std::string element_symbol(std::int32_t number) {
  if (number < 1 || number > std::ssize(symbols)) return fmt::format("element {}", number);
  return symbols[number - 1];
}

std::pair<std::int32_t, std::int32_t> electron_counts(const Molecule& m) {
  std::int32_t electrons = -m.charge;
  for (const Atom& a : m.atoms) electrons += a.charge;
  std::int32_t unpaired = m.multiplicity - 1;
  if (m.multiplicity < 1 || electrons < 0 || unpaired > electrons || (electrons - unpaired) % 2 != 0)
    throw InputError(fmt::format("charge {} and multiplicity {} do not fit a molecule of {} electrons", m.charge,
                                 m.multiplicity, electrons),
                     electrons % 2 ? "an odd number of electrons has multiplicity 2, 4, ..."
                                   : "an even number of electrons has multiplicity 1, 3, ...");
  return {(electrons + unpaired) / 2, (electrons - unpaired) / 2};
}

std::int32_t chemical_core(const Molecule& m) {
  // Orbitals of He, Ne, Ar, Kr, Xe; an atom's core is the noble gas before it.
  constexpr std::pair<std::int32_t, std::int32_t> noble_gases[] = {{2, 1}, {10, 5}, {18, 9}, {36, 18}, {54, 27}};
  std::int32_t sum = 0;
  for (const Atom& a : m.atoms) {
    std::int32_t core = 0;
    for (auto [number, orbitals] : noble_gases)
      if (a.charge + a.core_electrons > number) core = orbitals;
    sum += std::max(0, core - a.core_electrons / 2);
  }
  return sum;
}

double nuclear_repulsion(const Molecule& m) {
  double sum = 0.0;
  for (std::size_t i = 0; i < m.atoms.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (m.atoms[i].charge == 0 || m.atoms[j].charge == 0) continue;  // may be where another centre is
      const auto &p = m.atoms[i].position, &q = m.atoms[j].position;
      const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
      sum += m.atoms[i].charge * m.atoms[j].charge / std::sqrt(x * x + y * y + z * z);  // hypot takes ten times as long
    }
  return sum;
}

}  // namespace sial
