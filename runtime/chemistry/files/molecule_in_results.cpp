#include "runtime/chemistry/files/molecule_in_results.h"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

void write_molecule(Hdf5File& file, const Molecule& molecule) {
  file.make_group("molecule");
  file.set_attribute("molecule", "charge", molecule.charge);
  file.set_attribute("molecule", "multiplicity", molecule.multiplicity);
  file.set_attribute("molecule", "basis", molecule.basis_name);
  file.set_attribute("molecule", "frozen_core", molecule.frozen_core);
  std::vector<std::string> symbols;
  std::vector<double> coordinates;
  std::vector<std::int64_t> charges;
  for (const Atom& atom : molecule.atoms) {
    symbols.push_back(atom.symbol);
    coordinates.insert(coordinates.end(), atom.position.begin(), atom.position.end());
    charges.push_back(atom.charge);
  }
  const std::int64_t n = std::ssize(symbols);
  file.write("molecule/symbols", symbols);
  file.write("molecule/coordinates", std::vector<std::int64_t>{3, n}, std::span<const double>(coordinates));
  file.set_attribute("molecule/coordinates", "unit", std::string("bohr"));
  file.write("molecule/charges", std::vector<std::int64_t>{n}, std::span<const std::int64_t>(charges));
  file.set_attribute("molecule/charges", "meaning",
                     std::string("nuclear charges, less the electrons of effective core potentials"));
}

namespace {

std::string atoms_difference(const Hdf5File& file, const Molecule& molecule) {
  const std::vector<double> charges = file.read("molecule/charges");
  const std::size_t n = molecule.atoms.size();
  if (charges.size() != n) return fmt::format("it had {} atoms, not {}", charges.size(), n);
  for (std::size_t i = 0; i < n; ++i)
    if (charges[i] != molecule.atoms[i].charge)
      return fmt::format("atom {} had nuclear charge {}, not {}", i + 1, charges[i], molecule.atoms[i].charge);
  return {};
}

std::string basis_difference(const Hdf5File& file, const Molecule& molecule) {
  const std::string theirs = file.attribute_text("molecule", "basis");
  return theirs == molecule.basis_name ? std::string()
                                       : fmt::format("its basis was {}, not {}", theirs, molecule.basis_name);
}

}  // namespace

std::string molecule_difference(const Hdf5File& file, const Molecule& molecule) {
  constexpr double same_place = 1e-6;  // bohr: coordinates may have gone through a text
  constexpr double angstrom = 0.529177210903;
  if (!file.exists("molecule/coordinates") || !file.exists("molecule/charges")) return {};
  if (std::string difference = atoms_difference(file, molecule); !difference.empty()) return difference;
  const std::vector<double> places = file.read("molecule/coordinates");
  if (places.size() != 3 * molecule.atoms.size()) return fmt::format("it had {} coordinates", places.size());
  for (std::size_t i = 0; i < molecule.atoms.size(); ++i) {
    const Atom& atom = molecule.atoms[i];
    double far = 0;
    for (std::size_t d = 0; d < 3; ++d)
      far += (places[3 * i + d] - atom.position[d]) * (places[3 * i + d] - atom.position[d]);
    if (!(std::sqrt(far) <= same_place))
      return fmt::format("atom {} ({}) lay {:.4g} Angstrom from where it is now", i + 1, atom.symbol,
                         std::sqrt(far) * angstrom);
  }
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"charge", molecule.charge}, {"multiplicity", molecule.multiplicity}, {"frozen_core", molecule.frozen_core}};
  for (const auto& [name, mine] : numbers)
    if (const auto theirs = file.attribute_ints("molecule", name); theirs.size() == 1 && theirs[0] != mine)
      return fmt::format("its {} was {}, not {}", name, theirs[0], mine);
  return basis_difference(file, molecule);
}

std::string functions_difference(const Hdf5File& file, const Molecule& molecule) {
  if (!file.exists("molecule/charges")) return "it had no molecule";
  const std::string difference = atoms_difference(file, molecule);
  return difference.empty() ? basis_difference(file, molecule) : difference;
}

}  // namespace sial
