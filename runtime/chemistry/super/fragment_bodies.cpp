// Super instructions on molecules of several fragments: who owns what, distances, integrals with the nuclei of some
// fragments, and the SCF of a fragment alone.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/super/fragments.h"
#include "runtime/chemistry/super/small_scf.h"
#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"
#include "runtime/core/super/dense_algebra.h"

namespace sial {
namespace {

double distance(const Atom& a, const Atom& b) {
  return std::hypot(a.position[0] - b.position[0], a.position[1] - b.position[1], a.position[2] - b.position[2]);
}

/// Calls body(A, B) for the atoms of two fragments; for one and the same fragment, each pair of different atoms once.
template <class Body>
void for_each_pair(SuperContext& context, const Fragments& fragments, std::int32_t i, std::int32_t j, Body body) {
  const std::vector<Atom>& atoms = chemistry(context.job()).molecule.atoms;
  const std::vector<std::int32_t>& owner = fragments.atom_owners();
  for (std::size_t a = 0; a < atoms.size(); ++a)
    for (std::size_t b = 0; b < atoms.size(); ++b)
      if (owner[a] == i && owner[b] == j && (i != j || a < b)) body(atoms[a], atoms[b]);
}

/// A centre without charge may be where another one is.
double repulsion(const Atom& a, const Atom& b) {
  return a.charge == 0 || b.charge == 0 ? 0.0 : a.charge * b.charge / distance(a, b);
}

/// The shells of a block's rows and columns by themselves, among all nuclei.
struct BlockShells {
  Molecule molecule;
  FunctionRange rows, columns;
};

BlockShells block_shells(SuperContext& context, const SuperArg& block) {
  const Molecule& whole = chemistry(context.job()).molecule;
  BlockShells result;
  result.molecule.atoms = whole.atoms;
  result.molecule.basis_name = whole.basis_name;
  std::int64_t next = 0;
  auto add = [&](int d) -> FunctionRange {
    if (block.kind[d] != IndexKind::ao)
      throw SialError(fmt::format("dimension {} of {} must be an aoindex", d + 1, describe(block, 0)),
                      "integrals are over atomic orbitals");
    const std::int64_t first = block.offset[d], end = first + block.shape.extent[d];
    std::int64_t at = 0, found = 0;
    for (const Shell& s : whole.shells) {
      const std::int64_t n = s.n_functions();
      if (at < end && at + n > first) {
        if (at < first || at + n > end)
          throw SialError(fmt::format("{} splits the shell of functions {} to {}", describe(block, 0), at + 1, at + n),
                          "AO segments hold whole shells");
        result.molecule.shells.push_back(s);
        found += n;
      }
      at += n;
    }
    if (found != end - first)
      throw SialError(
          fmt::format("{} needs functions {} to {}, the basis has {}", describe(block, 0), first + 1, end, at),
          "do the `ao` segments belong to this molecule?");
    next += found;
    return {next - found, found};
  };
  result.rows = add(0);
  result.columns =
      block.offset[0] == block.offset[1] && block.shape.extent[0] == block.shape.extent[1] ? result.rows : add(1);
  return result;
}

/// block := kinetic energy + attraction by the nuclei that count.
template <class Counts>
std::vector<double> core_hamiltonian(BlockShells part, Counts counts) {
  for (std::size_t a = 0; a < part.molecule.atoms.size(); ++a)
    if (!counts(a)) part.molecule.atoms[a].charge = 0;
  std::vector<double> values(part.rows.count * part.columns.count);
  make_ao_integrals(part.molecule)->core_hamiltonian(part.rows, part.columns, values.data());
  return values;
}

/// Which fragments' nuclei act on fragment f: those the program's static elst_dist[f, other] flags; all where it has no
/// such array.
std::vector<bool> electrostatic_neighbours(SuperContext& context, const Fragments& fragments, std::int32_t f) {
  std::vector<bool> result(fragments.count() + 1, true);
  result[f] = false;
  const SuperArg flags = context.array_by_name("elst_dist");
  if (!flags.data) return result;
  if (flags.shape.rank != 2 || flags.shape.extent[0] < fragments.count() || flags.shape.extent[1] < fragments.count())
    throw SialError(
        fmt::format("the program's `elst_dist` must hold a flag for each pair of {} fragments", fragments.count()));
  for (std::int32_t other = 1; other <= fragments.count(); ++other)
    if (flags.data[(f - 1) + flags.shape.extent[0] * (other - 1)] == 0.0) result[other] = false;
  return result;
}

/// Where the fragment's own matrices have the first element of a block's dimension: its segments of that kind, one
/// after the other.
std::int64_t position_in_fragment(SuperContext& context, const Fragments& fragments, const SuperArg& block, int d,
                                  std::int32_t f) {
  const bool orbitals =
      block.kind[d] == IndexKind::mo || block.kind[d] == IndexKind::moa || block.kind[d] == IndexKind::mob;
  if (block.whole_array || (!orbitals && block.kind[d] != IndexKind::ao))
    throw SialError(fmt::format("{} must be a block over AO or MO segments", describe(block, 0)));
  const std::vector<std::int32_t>& sizes = context.job().segments.at(block.kind[d]);
  std::int64_t offset = 0;
  for (std::int32_t s : fragments.segments_of(block.kind[d], f)) {
    if (s == block.segment[d]) return offset;
    offset += sizes.at(s - 1);
  }
  throw SialError(fmt::format("segment {} of {} (dimension {}) does not belong to fragment {}", block.segment[d],
                              describe(block, 0), d + 1, f));
}

void require_room(const SuperArg& a, int position, std::int64_t n, std::int32_t f) {
  if (a.shape.rank != 2 || a.shape.extent[0] < n || a.shape.extent[1] < n)
    throw SialError(fmt::format("{} is too small for the matrices of fragment {}, which has {} functions",
                                describe(a, position), f, n),
                    fmt::format("declare it with {} rows and columns", n));
}

void store(const std::vector<double>& values, std::int64_t n, const SuperArg& target) {
  std::fill_n(target.data, target.size(), 0.0);
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(values.data() + n * j, n, target.data + target.shape.extent[0] * j);
}

/// C^T F C
std::vector<double> over_orbitals(const std::vector<double>& fock, const std::vector<double>& orbitals,
                                  std::int64_t n) {
  std::vector<double> half(n * n), full(n * n);
  multiply_matrices(false, false, n, n, n, fock.data(), orbitals.data(), 0.0, half.data());
  multiply_matrices(true, false, n, n, n, orbitals.data(), half.data(), 0.0, full.data());
  return full;
}

}  // namespace

void super_set_frag(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar});
  *args[0].data = Fragments(context).count();
}

void super_frag_index_range(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar, Expect::scalar});
  const Fragments fragments(context);
  const std::int32_t f = fragments.number(args[0], 0);
  const double kind = *args[1].data;
  if (kind != 1 && kind != 6 && kind != 7 && kind != 9 && kind != 10)
    throw SialError(fmt::format("{} is not a kind of range", kind),
                    "1 AO, 6 and 7 alpha occupied and virtual, 9 and 10 beta occupied and virtual");
  const auto [first, last] = fragments.positions(static_cast<FragmentRange>(static_cast<int>(kind)), f);
  *args[0].data = first;
  *args[1].data = last;
}

void super_return_pairs(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar, Expect::scalar, Expect::scalar, Expect::scalar});
  const Fragments fragments(context);
  const std::int32_t i = fragments.number(args[0], 0), j = fragments.number(args[1], 1);
  const double cutoff = *args[2].data;
  bool near = i == j;
  for_each_pair(context, fragments, i, j,
                [&](const Atom& a, const Atom& b) { near = near || distance(a, b) <= cutoff; });
  *args[3].data = near ? 2.0 : 0.0;
}

void super_compute_pair_nn(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar, Expect::scalar, Expect::scalar});
  const Fragments fragments(context);
  const std::int32_t i = fragments.number(args[0], 0), j = fragments.number(args[1], 1);
  double sum = 0.0;
  if (i != j) for_each_pair(context, fragments, i, j, [&](const Atom& a, const Atom& b) { sum += repulsion(a, b); });
  *args[2].data = sum;
}

void super_moi_nn_repulsion(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar, Expect::scalar});
  const Fragments fragments(context);
  const std::int32_t f = fragments.number(args[1], 1);
  double sum = 0.0;
  for_each_pair(context, fragments, f, f, [&](const Atom& a, const Atom& b) { sum += repulsion(a, b); });
  *args[0].data = sum;
}

void super_return_h1_moi(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::scalar});
  const Fragments fragments(context);
  const std::int32_t f = fragments.number(args[1], 1);
  const std::vector<double> values =
      core_hamiltonian(block_shells(context, args[0]), [&](std::size_t a) { return fragments.atom_owners()[a] == f; });
  std::copy(values.begin(), values.end(), args[0].data);
}

void super_return_ovl_moi(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::scalar});
  Fragments(context).number(args[1], 1);
  const BlockShells part = block_shells(context, args[0]);
  make_ao_integrals(part.molecule)->overlap(part.rows, part.columns, args[0].data);
}

void super_return_h1frag(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::scalar});
  const Fragments fragments(context);
  const std::vector<bool> acts = electrostatic_neighbours(context, fragments, fragments.number(args[1], 1));
  const BlockShells part = block_shells(context, args[0]);
  const std::vector<double> with =
      core_hamiltonian(part, [&](std::size_t a) { return acts[fragments.atom_owners()[a]]; });
  const std::vector<double> kinetic = core_hamiltonian(part, [](std::size_t) { return false; });
  for (std::size_t k = 0; k < with.size(); ++k) args[0].data[k] = with[k] - kinetic[k];
}

void super_return_vpq(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::matrix});
  const SuperArg &t = args[0], &v = args[1];
  if (t.shape.rank != 4 || t.shape.extent[2] != t.shape.extent[3] || t.shape.extent[0] != v.shape.extent[0] ||
      t.shape.extent[1] != v.shape.extent[1])
    throw SialError(fmt::format("{} and {} do not fit as t[a,b,c,c] and v[a,b]", describe(t, 0), describe(v, 1)));
  const std::int64_t pairs = v.size(), n = t.shape.extent[2];
  std::fill_n(v.data, pairs, 0.0);
  for (std::int64_t c = 0; c < n; ++c)
    for (std::int64_t ab = 0; ab < pairs; ++ab) v.data[ab] += t.data[ab + pairs * (c + n * c)];
}

void super_place_scratch(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::matrix, Expect::scalar, Expect::scalar});
  const Fragments fragments(context);
  constexpr const char* order =
      "after the block and the matrix come the kind (1 for AO rows, 2 for MO rows), then the fragment";
  const SuperArg &block = args[0], &scratch = args[1];
  const double kind = *args[2].data;
  if (kind != 1.0 && kind != 2.0)
    throw SialError(fmt::format("{} is {}, which is no kind of rows", describe(args[2], 2), kind), order);
  const std::int32_t f = fragments.number(args[3], 3);
  if ((kind == 1.0) != (block.kind[0] == IndexKind::ao))
    throw SialError(fmt::format("the first dimension of {} is {}an aoindex, and the kind of rows, {}, is {}",
                                describe(block, 0), kind == 1.0 ? "not " : "", describe(args[2], 2), kind),
                    order);
  const std::int64_t row = position_in_fragment(context, fragments, block, 0, f),
                     column = position_in_fragment(context, fragments, block, 1, f);
  const std::int64_t m = block.shape.extent[0], n = block.shape.extent[1], functions = fragments.functions(f);
  if (row + m > functions || column + n > functions)
    throw SialError(
        fmt::format("{} is rows to {} and columns to {} of the matrices of fragment {}, which has {} functions",
                    describe(block, 0), row + m, column + n, f, functions),
        "do the segments of the job belong to the fragments that its `w_frag_` arrays name?");
  if (row + m > scratch.shape.extent[0] || column + n > scratch.shape.extent[1])
    throw SialError(
        fmt::format("{} needs rows to {} and columns to {} of {}, which has {} and {}", describe(block, 0), row + m,
                    column + n, describe(scratch, 1), scratch.shape.extent[0], scratch.shape.extent[1]),
        fmt::format("the matrices of fragment {} have {} rows and columns", f, functions));
  for (std::int64_t j = 0; j < n; ++j)
    std::copy_n(scratch.data + row + scratch.shape.extent[0] * (column + j), m, block.data + m * j);
}

void super_scf_atom_lowmem(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar, Expect::matrix, Expect::matrix, Expect::matrix, Expect::matrix});
  const Fragments fragments(context);
  const std::int32_t f = fragments.number(args[0], 0);
  const Molecule molecule = fragments.alone(f);
  const std::int64_t n = molecule.n_basis();
  for (int i = 1; i <= 4; ++i) require_room(args[i], i, n, f);
  const auto [alpha, beta] = fragments.electrons(f);
  const SmallScf scf = small_uhf(molecule, alpha, beta);
  if (!scf.converged)
    throw SialError(
        fmt::format("the SCF of fragment {} ({} alpha and {} beta electrons) did not converge", f, alpha, beta));
  store(scf.orbitals.alpha, n, args[1]);
  store(scf.orbitals.beta, n, args[2]);
  store(over_orbitals(scf.fock.alpha, scf.orbitals.alpha, n), n, args[3]);
  store(over_orbitals(scf.fock.beta, scf.orbitals.beta, n), n, args[4]);
}

}  // namespace sial
