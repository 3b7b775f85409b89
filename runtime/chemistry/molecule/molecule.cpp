#include "runtime/chemistry/molecule/molecule.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"

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

std::int32_t labelled_element(std::string_view label) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto begin = std::find_if_not(label.begin(), label.end(), is_digit),
             end = std::find_if_not(begin, label.end(), is_letter);
  const std::string_view symbol(begin, end);
  const bool is_heavy_hydrogen =
      symbol.size() == 1 && std::string_view("DdTt").find(symbol[0]) != std::string_view::npos;
  const std::int32_t number = is_heavy_hydrogen ? 1 : atomic_number(symbol);
  if (begin != label.begin()) {
    const auto mass = read_integer(std::string_view(label.begin(), begin), number, 3 * number);
    return mass && end == label.end() ? number : 0;
  }
  // `HE1` is an atom's name in files of proteins, no helium; a sign would be that of a charge.
  if (end != label.end() && symbol.size() == 2 && std::isupper(static_cast<unsigned char>(symbol[1])) != 0) return 0;
  return end == label.end() || is_digit(*end) || *end == '_' ? number : 0;
}

void make_ghost(Atom& atom) {
  atom.symbol = fmt::format("Gh({})", atom.symbol);
  atom.charge = 0;
}

std::int32_t element_of(const Atom& atom) {
  if (atom.charge > 0 || !atom.symbol.starts_with("Gh(")) return atom.charge + atom.core_electrons;
  return atomic_number(std::string_view(atom.symbol).substr(3, atom.symbol.size() - 4));
}

bool take_ghost_mark(std::string_view& label) {
  constexpr std::string_view between = "-_.:(", before[] = {"ghost", "gh", "bq", "x"};
  const std::string lower = lower_case(label);
  const auto has_before = [&](std::string_view mark) {
    if (!lower.starts_with(mark)) return false;
    // `Xe` is xenon; `bqO` needs nothing between.
    return lower.size() == mark.size() || mark == "bq" || !std::isalpha(static_cast<unsigned char>(lower[mark.size()]));
  };
  if (const auto mark = std::ranges::find_if(before, has_before); mark != std::end(before)) {
    label.remove_prefix(mark->size());
    if (!label.empty() && between.find(label.front()) != std::string_view::npos) label.remove_prefix(1);
    if (label.ends_with(')')) label.remove_suffix(1);
    return true;
  }
  if (label.starts_with('@')) return label.remove_prefix(1), true;
  for (const std::string_view mark : {":", "-bq", "_bq", "(bq)", "-ghost", "_ghost", "(ghost)", "-gh", "_gh", "(gh)"})
    if (lower.ends_with(mark)) return label.remove_suffix(mark.size()), true;
  return lower == "0";
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
  // Orbitals of He, Ne, Ar, Kr, Xe, Rn: an atom's core is the noble gas before it. A filled f shell lies below the
  // gas's last shells in energy, and a core is what lies lowest: from Hf and Rf on it includes that shell.
  constexpr std::pair<std::int32_t, std::int32_t> cores[] = {{2, 1},   {10, 5},  {18, 9},  {36, 18},
                                                             {54, 27}, {71, 34}, {86, 43}, {103, 50}};
  std::int32_t sum = 0;
  for (const Atom& a : m.atoms) {
    std::int32_t core = 0;
    for (auto [number, orbitals] : cores)
      if (a.charge + a.core_electrons > number) core = orbitals;
    sum += std::max(0, core - a.core_electrons / 2);
  }
  return sum;
}

}  // namespace sial
