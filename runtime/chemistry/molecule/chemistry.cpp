#include "runtime/chemistry/molecule/chemistry.h"

#include <fmt/format.h>

#include "runtime/chemistry/molecule/hamiltonian.h"
#include "runtime/core/base/content_hash.h"
#include "runtime/core/base/error.h"

namespace sial {

const Chemistry& chemistry(const JobData& job) {
  static const Chemistry none;
  const auto* own = std::any_cast<Chemistry>(&job.domain);
  return own ? *own : none;
}

Chemistry& chemistry(JobData& job) {
  auto* own = std::any_cast<Chemistry>(&job.domain);
  return own ? *own : job.domain.emplace<Chemistry>();
}

const Molecule& require_molecule(const JobData& job) {
  if (!chemistry(job).has_molecule)
    throw SialError("this job has no molecule", "give one in [molecule] of the job file: xyz and basis");
  return chemistry(job).molecule;
}

IntegralCode integral_code(const JobData& job) {
  const auto chosen = job.choices.find("integrals");
  if (chosen == job.choices.end()) return IntegralCode::automatic;
  return chosen->second == "libint"    ? IntegralCode::libint
         : chosen->second == "hermite" ? IntegralCode::hermite
                                       : IntegralCode::automatic;
}

std::map<std::string, std::string> identity_of_chemistry(const JobData& job) {
  const Chemistry& own = chemistry(job);
  if (own.has_molecule) {
    ContentHash geometry, basis;
    for (const Atom& a : own.molecule.atoms) {
      geometry.add(a.charge);
      for (const double x : a.position) geometry.add(x);
    }
    for (const Shell& s : own.molecule.shells) {
      basis.add(s.atom);
      basis.add(s.l);
      basis.add(s.pure);
      basis.add(s.n_contractions);
      basis.add(s.exponents);
      basis.add(s.coefficients);
    }
    return {{"geometry", geometry.text()},
            {"basis set", fmt::format("{} ({})", own.molecule.basis_name, basis.text())},
            {"charge", fmt::format("{}", own.molecule.charge)},
            {"multiplicity", fmt::format("{}", own.molecule.multiplicity)}};
  }
  if (own.hamiltonian) {
    ContentHash hash;
    hash.add(own.hamiltonian->core_energy);
    hash.add(own.hamiltonian->one);
    hash.add(own.hamiltonian->two);
    return {{"integrals", hash.text()}};
  }
  return {};
}

}  // namespace sial
