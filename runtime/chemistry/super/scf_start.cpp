// Super instructions around the start of an SCF: atomic densities, occupations, damping.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "runtime/chemistry/basis/ecp.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/super/small_scf.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/number.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

constexpr const char* occupation_file = "OCCNUMS";

/// One atom of a molecule by itself, and where its functions stand among all.
struct AtomPart {
  Molecule molecule;
  std::vector<std::int64_t> function;
};

AtomPart atom_part(const JobData& job, std::int32_t atom) {
  const Molecule& whole = chemistry(job).molecule;
  AtomPart part;
  part.molecule.basis_name = whole.basis_name;
  part.molecule.atoms.push_back(whole.atoms[atom]);
  std::int64_t first = 0;
  for (const Shell& s : whole.shells) {
    if (s.atom == atom) {
      part.molecule.shells.push_back(s);
      part.molecule.shells.back().atom = 0;
      for (std::int64_t f = 0; f < s.n_functions(); ++f) part.function.push_back(first + f);
    }
    first += s.n_functions();
  }
  for (Ecp& e : ecps_of_job(job))
    if (e.atom == atom) {
      e.atom = 0;
      part.molecule.ecps.push_back(std::move(e));
    }
  return part;
}

void scatter(const std::vector<double>& values, const std::vector<std::int64_t>& function, const SuperArg& target,
             int position) {
  const std::int64_t n = std::ssize(function);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = function[i] - target.offset[0], column = function[j] - target.offset[1];
      if (row < 0 || column < 0 || row >= target.shape.extent[0] || column >= target.shape.extent[1])
        throw SialError(fmt::format("{} does not hold function {} of this atom", describe(target, position),
                                    function[std::max(i, j)] + 1),
                        "pass matrices declared over all AO segments");
      target.data[row + column * target.shape.extent[0]] = values[i + n * j];
    }
}

std::vector<double> read_occupations() {
  std::string problem;
  const std::string text = read_file(occupation_file, input_limit::occupations, problem);
  if (!problem.empty())
    throw SialError(fmt::format("cannot read `{}`: {}", occupation_file, problem),
                    "without this file the orbitals of lowest energy are occupied");
  std::vector<double> values;
  for (const std::string_view word : words_of(text)) {
    const std::optional<double> value = read_real(word);
    if (!value || *value < 0.0 || *value > 1.0)
      throw SialError(fmt::format("`{}` holds `{}`, which is not an occupation number", occupation_file, word),
                      "it holds numbers from 0 to 1: those of all alpha orbitals, then of all beta orbitals");
    values.push_back(*value);
  }
  return values;
}

AtomPart numbered_atom(SuperContext& context, double number) {
  const Molecule& molecule = require_molecule(context.job());
  if (number != std::floor(number) || number < 1 || number > static_cast<double>(molecule.atoms.size()))
    throw SialError(fmt::format("there is no atom {}: the molecule has {}", number, molecule.atoms.size()));
  return atom_part(context.job(), static_cast<std::int32_t>(number) - 1);
}

SmallScf neutral_atom(const AtomPart& part) {
  const std::int32_t electrons = static_cast<std::int32_t>(std::lround(part.molecule.atoms[0].charge)),
                     n = static_cast<std::int32_t>(part.function.size());
  return small_uhf(part.molecule, std::min(electrons - electrons / 2, n), std::min(electrons / 2, n));
}

/// A run of functions that rotations mix: the components of one contraction.
struct Components {
  std::int64_t first = 0, count = 1;
  bool spherical = true;
};

std::vector<Components> components_of(const Molecule& atom) {
  std::vector<Components> all;
  std::int64_t first = 0;
  for (const Shell& s : atom.shells)
    for (std::int32_t c = 0; c < s.n_contractions; ++c, first += all.back().count)
      all.push_back({first, s.n_functions() / s.n_contractions, s.pure || s.l < 2});
  return all;
}

/// Leaves of a density what is the same in all directions. Cartesian functions from d on are left alone: they hold
/// several angular momenta.
void average_directions(const Molecule& atom, std::vector<double>& density) {
  const std::vector<Components> shells = components_of(atom);
  const std::int64_t n = atom.n_basis();
  for (const Components& a : shells)
    for (const Components& b : shells) {
      if (!a.spherical || !b.spherical) continue;
      double sum = 0.0;
      for (std::int64_t j = 0; j < b.count; ++j)
        for (std::int64_t i = 0; i < a.count; ++i) {
          double& x = density[static_cast<std::size_t>(a.first + i + (b.first + j) * n)];
          if (a.count == b.count && i == j) sum += x;
          x = 0.0;
        }
      if (a.count != b.count) continue;
      for (std::int64_t i = 0; i < a.count; ++i)
        density[static_cast<std::size_t>(a.first + i + (b.first + i) * n)] = sum / static_cast<double>(a.count);
    }
}

/// Densities of atoms so far: those alike have one.
struct AtomDensities {
  struct Entry {
    Molecule atom;
    std::vector<double> density;
  };
  std::vector<Entry> entries;
};

bool alike(const Molecule& a, const Molecule& b) {
  const auto same_shell = [](const Shell& x, const Shell& y) {
    return x.l == y.l && x.pure == y.pure && x.n_contractions == y.n_contractions && x.exponents == y.exponents &&
           x.coefficients == y.coefficients;
  };
  const auto same_term = [](const EcpTerm& x, const EcpTerm& y) {
    return x.l == y.l && x.power == y.power && x.exponent == y.exponent && x.coefficient == y.coefficient;
  };
  const auto same_ecp = [&](const Ecp& x, const Ecp& y) {
    return x.electrons == y.electrons && std::ranges::equal(x.terms, y.terms, same_term);
  };
  return a.atoms[0].charge == b.atoms[0].charge && std::ranges::equal(a.shells, b.shells, same_shell) &&
         std::ranges::equal(a.ecps, b.ecps, same_ecp);
}

}  // namespace

void super_free_atom_density(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::scalar});
  const AtomPart part = numbered_atom(context, *args[1].data);
  std::fill_n(args[0].data, args[0].size(), 0.0);
  if (part.function.empty()) return;
  std::shared_ptr<void>& slot = context.slot("atom_densities");
  if (!slot) slot = std::make_shared<AtomDensities>();
  std::vector<AtomDensities::Entry>& known = static_cast<AtomDensities*>(slot.get())->entries;
  auto entry = std::ranges::find_if(known, [&](const AtomDensities::Entry& e) { return alike(e.atom, part.molecule); });
  if (entry == known.end()) {
    const SmallScf scf = neutral_atom(part);
    std::vector<double> density = scf.density.alpha;
    for (std::size_t i = 0; i < density.size(); ++i) density[i] = 0.5 * (density[i] + scf.density.beta[i]);
    average_directions(part.molecule, density);
    known.push_back({part.molecule, std::move(density)});
    entry = known.end() - 1;
  }
  scatter(entry->density, part.function, args[0], 0);
}

void super_a4_scf_atom(SuperContext& context, std::span<SuperArg> args) {
  if (args.size() != 6) throw SialError(fmt::format("takes 6 arguments, found {}", args.size()));
  expect_arguments(args.first(2), {Expect::matrix, Expect::matrix});
  if (args[5].size() != 1)
    throw SialError(fmt::format("argument 6 must be the number of an atom, found {}", describe(args[5], 5)));
  const AtomPart part = numbered_atom(context, *args[5].data);
  std::fill_n(args[0].data, args[0].size(), 0.0);
  std::fill_n(args[1].data, args[1].size(), 0.0);
  if (part.function.empty()) return;  // an atom without functions has no density
  const SmallScf scf = neutral_atom(part);
  scatter(scf.density.alpha, part.function, args[0], 0);
  scatter(scf.density.beta, part.function, args[1], 1);
}

void super_a4_get_init_occupation(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::scalar});
  SuperArg& occupation = args[0];
  const bool beta = *args[1].data != 0.0;
  const std::int64_t n = occupation.size();
  std::fill_n(occupation.data, n, 0.0);
  if (std::error_code ignored; std::filesystem::exists(occupation_file, ignored)) {
    const std::vector<double> values = read_occupations();
    const std::int64_t have = std::ssize(values);
    if (have != n && have != 2 * n)
      throw SialError(
          fmt::format("`{}` holds {} numbers, and {} has {} orbitals", occupation_file, have, describe(occupation, 0),
                      n),
          "it holds numbers from 0 to 1: those of all alpha orbitals, then of all beta orbitals (left out: the same)");
    std::copy_n(values.begin() + (beta && have == 2 * n ? n : 0), n, occupation.data);
    return;
  }
  const char* name = beta ? "nbeta_occupied" : "nalpha_occupied";
  auto it = context.job().ints.find(name);
  if (it == context.job().ints.end())
    throw SialError(fmt::format("the job has no int `{}`", name),
                    fmt::format("a molecule defines it, or [values] {} = 5", name));
  if (it->second > n)
    throw SialError(fmt::format("{} has {} orbitals, and `{}` is {}", describe(occupation, 0), n, name, it->second));
  std::fill_n(occupation.data, it->second, 1.0);
}

void super_a4_return_occupation(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::block});
  // overlap[new, old]: columns of unoccupied old orbitals are zero. The new orbitals with the largest projections onto
  // the old occupied space are occupied (A. T. B. Gilbert, N. A. Besley, P. M. W. Gill, J. Phys. Chem. A 112, 13164
  // (2008)).
  const SuperArg& overlap = args[0];
  SuperArg& occupation = args[1];
  const std::int64_t rows = overlap.shape.extent[0], columns = overlap.shape.extent[1];
  if (occupation.size() < rows)
    throw SialError(fmt::format("{} has {} elements, {} has {} rows", describe(occupation, 1), occupation.size(),
                                describe(overlap, 0), rows));
  std::vector<double> projection(rows, 0.0);
  std::int64_t occupied = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    const double* column = overlap.data + j * rows;
    occupied += std::any_of(column, column + rows, [](double x) { return x != 0.0; });
    for (std::int64_t i = 0; i < rows; ++i) projection[i] += column[i] * column[i];
  }
  std::vector<std::int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t p, std::int64_t q) { return projection[p] > projection[q]; });
  std::fill_n(occupation.data, occupation.size(), 0.0);
  for (std::int64_t i = 0; i < std::min(occupied, rows); ++i) occupation.data[order[i]] = 1.0;
}

void super_a4_david_damp_factor(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::scalar});
  if (args[0].size() < 3)
    throw SialError(fmt::format("{} must hold three numbers: this energy change, the previous one, and the average",
                                describe(args[0], 0)));
  const double change = args[0].data[0], previous = args[0].data[1], average = args[0].data[2];
  double& damp = *args[1].data;
  const double larger = std::max(damp, average);
  const auto squared_ratio = [&] { return (change / previous) * (change / previous) * larger; };
  if (change <= 0.0 && previous <= 0.0) {
    if (change <= previous) {
      if (std::abs(change) >= 2.0 * average) damp = 16.0 * larger;
      else if (std::abs(change) <= 0.5 * average) damp /= 16.0;
    } else {
      damp = change <= 0.25 * previous ? squared_ratio() : damp / 16.0;
    }
  } else if (change <= 0.0) {
    damp = 4.0 * larger;
    if (-change > average) damp *= 16.0;
    if (previous - change < average) damp /= 16.0;
  } else if (previous <= 0.0) {
    damp = 4.0 * larger;
    if (change > 0.5 * average) damp *= 16.0;
    if (change - previous < 0.2 * average) damp /= 16.0;
  } else {
    damp = 4.0 * larger;
    if (change >= 4.0 * previous) damp = 16.0 * larger;
    else if (change <= 0.25 * previous) damp /= 16.0;
    else damp = squared_ratio();
  }
  damp = std::min(damp, 256.0);
}

}  // namespace sial
