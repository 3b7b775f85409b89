#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "runtime/chemistry/files/fcidump.h"
#include "runtime/core/base/output_file.h"

namespace sial {

void write_fcidump(const InputHamiltonian& hamiltonian, const std::string& path) {
  constexpr double threshold = 1e-15;
  constexpr std::size_t piece = 1 << 20;
  OutputFile file(path);
  std::string text = fmt::format("&FCI NORB={},NELEC={},MS2={},\n  ORBSYM=", hamiltonian.orbitals,
                                 hamiltonian.electrons, hamiltonian.multiplicity - 1);
  for (std::int32_t p = 0; p < hamiltonian.orbitals; ++p) text += "1,";
  text += "\n  ISYM=1,\n&END\n";
  const auto line = [&](double value, std::int32_t i, std::int32_t j, std::int32_t k, std::int32_t l) {
    fmt::format_to(std::back_inserter(text), "{:24.16E} {:4} {:4} {:4} {:4}\n", value, i, j, k, l);
    if (text.size() < piece) return;
    file.write(text);
    text.clear();
  };
  std::size_t at = 0;
  for (std::int32_t p = 1; p <= hamiltonian.orbitals; ++p)
    for (std::int32_t q = 1; q <= p; ++q)
      for (std::int32_t r = 1; r <= p; ++r)
        for (std::int32_t s = 1; s <= (r < p ? r : q); ++s)
          if (const double value = hamiltonian.two[at++]; std::abs(value) > threshold) line(value, p, q, r, s);
  at = 0;
  for (std::int32_t p = 1; p <= hamiltonian.orbitals; ++p)
    for (std::int32_t q = 1; q <= p; ++q)
      if (const double value = hamiltonian.one[at++]; std::abs(value) > threshold) line(value, p, q, 0, 0);
  for (std::size_t p = 0; p < hamiltonian.energies.size(); ++p)
    line(hamiltonian.energies[p], static_cast<std::int32_t>(p) + 1, 0, 0, 0);
  line(hamiltonian.core_energy, 0, 0, 0, 0);
  file.write(text);
  file.finish();
}

}  // namespace sial
