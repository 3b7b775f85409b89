#include "runtime/chemistry/molecule/hamiltonian.h"

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"

namespace sial {

double packed_bytes(std::int32_t orbitals) {
  const double pairs = 0.5 * orbitals * (orbitals + 1.0);
  return 0.5 * sizeof(double) * pairs * (pairs + 1.0);
}

Molecule orbitals_as_functions(const InputHamiltonian& hamiltonian) {
  Molecule m;
  m.charge = -hamiltonian.electrons;
  m.multiplicity = hamiltonian.multiplicity;
  m.basis_name = fmt::format("the orbitals of `{}`", hamiltonian.file);
  Shell orbital;
  orbital.exponents = {1.0};
  orbital.coefficients = {1.0};
  m.shells.assign(static_cast<std::size_t>(hamiltonian.orbitals), orbital);
  return m;
}

void give_arrays(const std::shared_ptr<const InputHamiltonian>& hamiltonian, JobData& data) {
  const std::int64_t n = hamiltonian->orbitals;
  const auto size = static_cast<std::size_t>(n);
  DataArray one{{n, n}, std::vector<double>(size * size), hamiltonian->file};
  for (std::size_t q = 0; q < size; ++q)
    for (std::size_t p = 0; p < size; ++p) one.data[p + size * q] = hamiltonian->one[InputHamiltonian::pair(p, q)];
  data.arrays["given_one_electron"] = std::move(one);
  if (!hamiltonian->energies.empty())
    data.arrays["given_orbital_energies"] = {{n}, hamiltonian->energies, hamiltonian->file};
  DataArray two{{n, n, n, n}, {}, hamiltonian->file};
  two.fill = [hamiltonian](std::span<const std::int64_t> first, std::span<const std::int64_t> count, double* out) {
    const auto end = [&](std::size_t d) { return static_cast<std::size_t>(first[d] + count[d]); };
    for (auto s = static_cast<std::size_t>(first[3]); s < end(3); ++s)
      for (auto r = static_cast<std::size_t>(first[2]); r < end(2); ++r)
        for (auto q = static_cast<std::size_t>(first[1]); q < end(1); ++q)
          for (auto p = static_cast<std::size_t>(first[0]); p < end(0); ++p)
            *out++ = hamiltonian->repulsion(p, q, r, s);
  };
  data.arrays["given_integrals"] = std::move(two);
}

}  // namespace sial
