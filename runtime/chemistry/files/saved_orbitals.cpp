#include "runtime/chemistry/files/saved_orbitals.h"

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"

namespace sial {

bool is_orbital_label(const std::string& label) { return label == "c" || label == "ca"; }

bool SavedOrbitals::has_energies() const {
  return fock && fock->extents.size() == 2 && fock->extents[0] >= number() && fock->extents[1] >= number();
}

std::vector<SavedOrbitals> saved_orbitals(const Molecule& molecule, const SavedStatics& saved,
                                          const std::string& file) {
  const auto [alpha, beta] = electron_counts(molecule);
  const auto found = [&](const char* label) -> const DataArray* {
    const auto it = saved.find(label);
    return it == saved.end() ? nullptr : &it->second;
  };
  std::vector<SavedOrbitals> all;
  if (const DataArray *a = found("ca"), *b = found("cb"); a && b)
    all = {{false, a, found("fock_a"), alpha, 1.0}, {true, b, found("fock_b"), beta, 1.0}};
  else if (const DataArray* c = found("c")) all = {{false, c, found("fock_mo"), alpha, 2.0}};
  else
    throw InputError(
        fmt::format("no program saved orbitals for {}", file),
        "an SCF program saves its coefficients x[ao, mo] as `set_persistent c \"c\"`, of UHF as \"ca\" and \"cb\"");
  const std::int64_t n = molecule.n_basis();
  for (const SavedOrbitals& o : all)
    if (const std::vector<std::int64_t>& extents = o.coefficients->extents; extents.size() != 2 || extents[0] != n)
      throw InputError(
          fmt::format("the saved orbitals have {} extents{}, and the basis set has {} functions", extents.size(),
                      extents.empty() ? "" : fmt::format(" (the first {})", extents[0]), n),
          "coefficients are saved as x[ao, mo]");
  return all;
}

std::vector<std::int32_t> zonal_first(std::int32_t l) {
  std::vector<std::int32_t> out{l};
  for (std::int32_t m = 1; m <= l; ++m) {
    out.push_back(l - m);
    out.push_back(l + m);
  }
  return out;
}

}  // namespace sial
