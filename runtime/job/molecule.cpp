#include "runtime/job/molecule.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace sial {
namespace {

constexpr const char* symbols[] = {
    "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",  "S",  "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr",
    "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd",
    "In", "Sn", "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf",
    "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn"};

[[noreturn]] void fail(const std::string& path, int line, const std::string& message, const std::string& hint = {}) {
  throw SialError(message, hint, fmt::format("{}:{}", path, line));
}

}  // namespace

std::int32_t atomic_number(std::string_view symbol) {
  for (std::size_t i = 0; i < std::size(symbols); ++i) {
    std::string_view s = symbols[i];
    if (s.size() == symbol.size() && std::equal(s.begin(), s.end(), symbol.begin(), [](unsigned char a, unsigned char b) {
          return std::tolower(a) == std::tolower(b);
        }))
      return static_cast<std::int32_t>(i) + 1;
  }
  return 0;
}

std::string element_symbol(std::int32_t number) {
  if (number < 1 || number > std::ssize(symbols)) return fmt::format("element {}", number);
  return symbols[number - 1];
}

std::vector<Atom> read_xyz(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw SialError(fmt::format("cannot read the molecule `{}`", path), "`xyz` names an xyz file, relative to the job file's folder");
  std::string line;
  std::getline(in, line);
  std::istringstream first(line);
  std::int64_t count = 0;
  std::string rest;
  if (!(first >> count) || count < 1 || count > 1'000'000 || (first >> rest))
    fail(path, 1, "expected the number of atoms", "an xyz file begins with the number of atoms, then a comment line, then `symbol x y z` lines in Angstrom");
  std::getline(in, line);
  std::vector<Atom> atoms;
  for (std::int64_t i = 0; i < count; ++i) {
    int number = static_cast<int>(i) + 3;
    if (!std::getline(in, line)) fail(path, number, fmt::format("the file ends after {} of {} atoms", i, count), "is the file complete?");
    std::istringstream fields(line);
    std::string symbol;
    Atom atom;
    if (!(fields >> symbol)) fail(path, number, fmt::format("expected atom {} of {}, found an empty line", i + 1, count));
    for (double& x : atom.position) {
      if (!(fields >> x) || !std::isfinite(x)) fail(path, number, fmt::format("expected three coordinates after `{}`", symbol));
      x /= bohr_in_angstrom;
    }
    bool is_number = symbol.find_first_not_of("0123456789") == std::string::npos && symbol.size() < 4;
    atom.charge = is_number ? std::stoi(symbol) : atomic_number(symbol);
    if (atom.charge < 1 || atom.charge > std::ssize(symbols)) fail(path, number, fmt::format("unknown element `{}`", symbol));
    atom.symbol = element_symbol(atom.charge);
    for (std::size_t k = 0; k < atoms.size(); ++k) {
      double d = std::hypot(atoms[k].position[0] - atom.position[0], atoms[k].position[1] - atom.position[1], atoms[k].position[2] - atom.position[2]);
      if (d < 1e-3) fail(path, number, fmt::format("atoms {} and {} are at the same place", k + 1, i + 1));
    }
    atoms.push_back(atom);
  }
  for (int number = static_cast<int>(count) + 3; std::getline(in, line); ++number)
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      fail(path, number, fmt::format("text after the last of {} atoms", count), "the first line must state the number of atoms in the file");
  return atoms;
}

std::pair<std::int32_t, std::int32_t> electron_counts(const Molecule& m) {
  std::int32_t electrons = -m.charge;
  for (const Atom& a : m.atoms) electrons += a.charge;
  std::int32_t unpaired = m.multiplicity - 1;
  if (m.multiplicity < 1 || electrons < 0 || unpaired > electrons || (electrons - unpaired) % 2 != 0)
    throw SialError(fmt::format("charge {} and multiplicity {} do not fit a molecule of {} electrons", m.charge, m.multiplicity, electrons),
                    electrons % 2 ? "an odd number of electrons has multiplicity 2, 4, ..." : "an even number of electrons has multiplicity 1, 3, ...");
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
      const auto &p = m.atoms[i].position, &q = m.atoms[j].position;
      sum += m.atoms[i].charge * m.atoms[j].charge / std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
    }
  return sum;
}

}  // namespace sial
