// Orbital energy denominators: virtual orbitals at positions 1, 3, 5 of a block, occupied ones at 2, 4, 6.

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/super/bodies.h"

namespace sial {
namespace {

/// Energies of the orbitals along one dimension: the diagonal of a Fock matrix, or a vector.
std::vector<double> orbital_energies(const SuperArg& t, int dimension, const SuperArg& fock) {
  if (fock.shape.rank > 2 || (fock.shape.rank == 2 && fock.shape.extent[0] != fock.shape.extent[1]))
    throw SialError(fmt::format("{} must be a square matrix or a vector of orbital energies", describe(fock, 1)));
  std::int64_t n = fock.shape.extent[0], step = fock.shape.rank == 2 ? n + 1 : 1;
  std::vector<double> energies(t.shape.extent[dimension]);
  for (std::size_t p = 0; p < energies.size(); ++p) {
    // A vector over a simple index is numbered by orbital, like any whole array that starts with the first one.
    std::int64_t orbital = global_position(t, dimension, static_cast<std::int64_t>(p)) - fock.offset[0];
    if (orbital < 0 || orbital >= n)
      throw SialError(fmt::format("{} needs the energy of orbital {}, but {} holds orbitals {} to {}", describe(t, 0), orbital + fock.offset[0] + 1, describe(fock, 1),
                                  fock.offset[0] + 1, fock.offset[0] + n));
    energies[p] = fock.data[orbital * step];
  }
  return energies;
}

/// Dimensions over beta orbitals take their energies from `beta`, all others from `alpha`.
template <class Apply>
void with_energy_differences(SuperArg& t, const SuperArg& alpha, const SuperArg& beta, double shift, Apply apply) {
  if (t.shape.rank % 2 != 0 || t.shape.rank == 0) throw SialError(fmt::format("{} must have rank 2, 4 or 6, it has {}", describe(t, 0), t.shape.rank));
  std::array<std::vector<double>, max_rank> e;
  for (int d = 0; d < t.shape.rank; ++d) e[d] = orbital_energies(t, d, t.kind[d] == IndexKind::mob ? beta : alpha);
  for_each_element(t.shape, [&](const auto& at, std::int64_t i) {
    double difference = shift;
    for (int d = 0; d < t.shape.rank; d += 2) difference += e[d + 1][at[d + 1]] - e[d][at[d]];
    apply(t.data[i], difference);
  });
}

void divide(SuperArg& t, const SuperArg& alpha, const SuperArg& beta, double shift) {
  with_energy_differences(t, alpha, beta, shift, [&](double& x, double difference) {
    if (difference != 0.0) x /= difference;
    else if (x != 0.0) throw SialError(fmt::format("an energy denominator of {} is zero", describe(t, 0)), "is the Fock matrix filled, and is its diagonal that of these orbitals?");
  });
}

}  // namespace

void super_energy_denominator_rhf(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  divide(args[0], args[1], args[1], 0.0);
}

void super_energy_denominator_uhf(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block, Expect::block});
  divide(args[0], args[1], args[2], 0.0);
}

void super_energy_numerator_rhf(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  with_energy_differences(args[0], args[1], args[1], 0.0, [](double& x, double difference) { x *= difference; });
}

void super_energy_ty_denominator_rhf(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block, Expect::scalar});
  divide(args[0], args[1], args[1], *args[2].data);
}

}  // namespace sial
