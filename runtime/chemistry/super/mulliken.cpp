#include "runtime/chemistry/super/mulliken.h"

#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/super/dense_algebra.h"

namespace sial {
namespace {

std::vector<double> charges_of(const JobData& job, const SavedStatics& saved) {
  const Molecule& m = chemistry(job).molecule;
  const std::int64_t n = m.n_basis();
  const bool two = saved.contains("ca") && saved.contains("cb");
  const auto [alpha, beta] = electron_counts(m);
  if (!two && alpha != beta) return {};
  std::vector<double> charges, overlap(static_cast<std::size_t>(n * n));
  for (const Atom& atom : m.atoms) charges.push_back(atom.charge);
  std::vector<std::size_t> atom_of;
  for (const Shell& s : m.shells)
    atom_of.insert(atom_of.end(), static_cast<std::size_t>(s.n_functions()), static_cast<std::size_t>(s.atom));
  make_ao_integrals(m, integral_code(job))->overlap({0, n}, {0, n}, overlap.data());
  for (const bool is_beta : {false, true}) {
    const DataArray& c = saved.at(!two ? "c" : is_beta ? "cb" : "ca");
    const std::int64_t occupied = is_beta ? beta : alpha;
    if (c.extents.size() != 2 || c.extents[0] != n || c.extents[1] < occupied) return {};
    if (occupied == 0) continue;
    std::vector<double> product(static_cast<std::size_t>(n * occupied));
    multiply_matrices(false, false, n, occupied, n, overlap.data(), c.data.data(), 0.0, product.data());
    if (!are_orthonormal(n, occupied, c.data.data(), product.data())) return {};
    for (std::size_t i = 0; i < product.size(); ++i)
      charges[atom_of[i % static_cast<std::size_t>(n)]] -= c.data[i] * product[i];
  }
  return charges;
}

}  // namespace

std::vector<double> mulliken_charges(const JobData& job, const SavedStatics& saved) {
  // Where there are both, nobody knows which were saved last.
  const bool has_orbitals = saved.contains("c") != (saved.contains("ca") && saved.contains("cb"));
  if (!chemistry(job).has_molecule || chemistry(job).molecule.shells.empty() || !has_orbitals) return {};
  try {
    return charges_of(job, saved);
  } catch (const SialError&) {
    return {};  // functions of which there are no integrals: the programs did without
  }
}

}  // namespace sial
