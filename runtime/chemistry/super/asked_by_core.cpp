// What the core asks of chemistry; no_chemistry.cpp answers where there is none.

#include <algorithm>
#include <cstddef>

#include "runtime/chemistry/integrals/hermite_repulsion.h"
#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/core/super/plugins.h"
#include "runtime/core/super/registry.h"

namespace sial {

std::int32_t atom_count(const JobData& job) {
  return chemistry(job).has_molecule ? static_cast<std::int32_t>(chemistry(job).molecule.atoms.size()) : 0;
}

void read_atom(const JobData& job, std::int32_t number, double* charge, double* position) {
  const Atom& atom = chemistry(job).molecule.atoms.at(static_cast<std::size_t>(number));
  *charge = atom.charge;
  std::copy(atom.position.begin(), atom.position.end(), position);
}

SuperDemand demand_of(const JobData& job, std::string_view super_instruction) {
  SuperDemand demand;
  if (super_instruction != "compute_integral_batch" && !super_instruction.starts_with("compute_ubatch")) return demand;
  demand.element_time = 30e-9;
  demand.cached_element_time = 8e-9;
  const Chemistry& own = chemistry(job);
  demand.keeps = own.has_molecule;
  if (own.has_molecule && uses_hermite_repulsion(own.molecule, integral_code(job)))
    demand.memory = HermiteRepulsion::max_list_bytes;
  return demand;
}

}  // namespace sial
