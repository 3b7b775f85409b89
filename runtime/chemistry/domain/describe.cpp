// Chemistry's parts of `--describe`.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chemistry/domain/chemistry_domain.h"
#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {
namespace {

std::string molecule_text(const JobData& data) {
  if (!chemistry(data).has_molecule)
    return chemistry(data).molecule.basis_name.empty()
               ? "no molecule\n"
               : fmt::format("no molecule: {}\n", chemistry(data).molecule.basis_name);
  const Molecule& m = chemistry(data).molecule;
  std::string out = fmt::format("molecule: {} atom{}, charge {}, multiplicity {}; coordinates in bohr\n",
                                m.atoms.size(), m.atoms.size() == 1 ? "" : "s", m.charge, m.multiplicity);
  for (std::size_t i = 0; i < m.atoms.size(); ++i) {
    const Atom& a = m.atoms[i];
    out += fmt::format("  {:4} {:2} {:4} {:16.10f} {:16.10f} {:16.10f}\n", i + 1, a.symbol, a.charge, a.position[0],
                       a.position[1], a.position[2]);
  }
  const bool cartesian =
      std::any_of(m.shells.begin(), m.shells.end(), [](const Shell& s) { return s.l >= 2 && !s.pure; });
  const bool high = std::any_of(m.shells.begin(), m.shells.end(), [](const Shell& s) { return s.l >= 2; });
  out += fmt::format("basis: {} shells, {} functions{}\n", m.shells.size(), m.n_basis(),
                     !high       ? ""
                     : cartesian ? ", Cartesian"
                                 : ", spherical");
  out += "  shell atom  l primitives contractions functions\n";
  std::int32_t first = 1;
  for (std::size_t i = 0; i < m.shells.size(); ++i) {
    const Shell& s = m.shells[i];
    out += fmt::format("  {:5} {:4} {:2} {:10} {:12} {:4} to {}\n", i + 1, s.atom + 1, s.l, s.exponents.size(),
                       s.n_contractions, first, first + s.n_functions() - 1);
    first += s.n_functions();
  }
  return out;
}

std::string programs_text(const LegacyDat& dat, const std::vector<std::string>& folders) {
  std::string out;
  for (const std::string& name : dat.programs) {
    const std::vector<std::string> files = find_program(name, folders);
    out += files.empty() ? fmt::format("  {} (not in {})\n", name, fmt::join(folders, ", "))
                         : fmt::format("  {} = {}\n", name, fmt::join(files, ", "));
  }
  return out;
}

std::string settings_text(const LegacyDat& dat) {
  std::string out;
  for (const LegacyConfig& config : dat.configs)
    for (const auto& [key, value] : config.pairs) {
      if (out.empty()) out = "settings of programs (nothing reads them)\n";
      out += fmt::format("  {}: {} = {}\n", config.program, key, value);
    }
  return out;
}

}  // namespace

Domain::Description ChemistryDomain::describe(const Job& job, const std::vector<std::string>& folders) const {
  Description text{molecule_text(job.data), {}, {}};
  if (!job.legacy) return text;
  if (job.programs.empty()) text.programs = programs_text(*job.legacy, folders);
  text.settings = settings_text(*job.legacy);
  return text;
}

}  // namespace sial
