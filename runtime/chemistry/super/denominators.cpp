// Orbital energy denominators: virtual orbitals at positions 1, 3, 5, 7 of a block, occupied ones at 2, 4, 6, 8.

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"

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
      throw SialError(fmt::format("{} needs the energy of orbital {}, but {} holds orbitals {} to {}", describe(t, 0),
                                  orbital + fock.offset[0] + 1, describe(fock, 1), fock.offset[0] + 1,
                                  fock.offset[0] + n));
    energies[p] = fock.data[orbital * step];
  }
  return energies;
}

/// Dimensions over beta orbitals take their energies from `beta`, all others from `alpha`.
EnergyDifferences energy_differences(const SuperArg& t, const SuperArg& alpha, const SuperArg& beta, double shift,
                                     bool divide) {
  if (t.shape.rank % 2 != 0 || t.shape.rank == 0)
    throw SialError(fmt::format("{} must have rank 2, 4, 6 or 8, it has {}", describe(t, 0), t.shape.rank));
  EnergyDifferences e;
  e.rank = t.shape.rank;
  e.shift = shift;
  e.divide = divide;
  for (int d = 0; d < t.shape.rank; ++d)
    e.energy[d] = orbital_energies(t, d, t.kind[d] == IndexKind::mob ? beta : alpha);
  return e;
}

/// `pairs`: half the rank. What dimensions after the first two add is found once per line; the order of the sum stays.
template <int pairs>
void apply_lines(SuperArg& t, const EnergyDifferences& e) {
  const std::int64_t length = t.shape.extent[0], lines = length == 0 ? 0 : t.shape.size() / length;
  std::array<std::int64_t, max_rank> at{};
  std::array<double, pairs> added{};
  double* x = t.data;
  for (std::int64_t line = 0; line < lines; ++line, x += length) {
    const double* const first = e.energy[0].data();
    const double second = e.energy[1][at[1]], shift = e.shift;
    for (int q = 1; q < pairs; ++q) added[q] = e.energy[2 * q + 1][at[2 * q + 1]] - e.energy[2 * q][at[2 * q]];
    const auto difference = [&](std::int64_t i) {
      double sum = shift + (second - first[i]);
      for (int q = 1; q < pairs; ++q) sum += added[q];
      return sum;
    };
    bool zero = false;
    for (std::int64_t i = 0; i < length; ++i) zero |= difference(i) == 0.0;
    if (!e.divide)
      for (std::int64_t i = 0; i < length; ++i) x[i] *= difference(i);
    else if (!zero)
      for (std::int64_t i = 0; i < length; ++i) x[i] /= difference(i);
    else
      for (std::int64_t i = 0; i < length; ++i) {
        if (const double d = difference(i); d != 0.0) x[i] /= d;
        else if (x[i] != 0.0) throw zero_difference(t);
      }
    for (int d = 1; d < e.rank && ++at[d] == t.shape.extent[d]; ++d) at[d] = 0;
  }
}

void apply(SuperArg& t, const EnergyDifferences& e) {
  switch (e.rank) {
    case 2: return apply_lines<1>(t, e);
    case 4: return apply_lines<2>(t, e);
    case 6: return apply_lines<3>(t, e);
    default: return apply_lines<4>(t, e);
  }
}

}  // namespace

EnergyDifferences element_form_energy_denominator_rhf(std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  return energy_differences(args[0], args[1], args[1], 0.0, true);
}

EnergyDifferences element_form_energy_denominator_uhf(std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block, Expect::block});
  return energy_differences(args[0], args[1], args[2], 0.0, true);
}

EnergyDifferences element_form_energy_numerator_rhf(std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  return energy_differences(args[0], args[1], args[1], 0.0, false);
}

EnergyDifferences element_form_energy_ty_denominator_rhf(std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block, Expect::scalar});
  return energy_differences(args[0], args[1], args[1], *args[2].data, true);
}

void super_energy_denominator_rhf(SuperContext&, std::span<SuperArg> args) {
  apply(args[0], element_form_energy_denominator_rhf(args));
}

void super_energy_denominator_uhf(SuperContext&, std::span<SuperArg> args) {
  apply(args[0], element_form_energy_denominator_uhf(args));
}

void super_energy_numerator_rhf(SuperContext&, std::span<SuperArg> args) {
  apply(args[0], element_form_energy_numerator_rhf(args));
}

void super_energy_ty_denominator_rhf(SuperContext&, std::span<SuperArg> args) {
  apply(args[0], element_form_energy_ty_denominator_rhf(args));
}

}  // namespace sial
