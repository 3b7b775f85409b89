// Super instructions on integrals: blocks of one- and two-electron integrals, and the direct Fock build.

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/job/ecp.h"
#include "runtime/job/molecule.h"
#include "runtime/super/bodies.h"
#include "runtime/super/ecp_integrals.h"
#include "runtime/super/integrals.h"

namespace sial {
namespace {

const Molecule& molecule(SuperContext& context) {
  if (!context.job().has_molecule) {
    const auto& why = context.job().molecule.basis_name;  // said by initial-data files
    throw SialError("this job has no molecule", why.empty() ? "give one in [molecule] of the job file: xyz and basis" : why);
  }
  return context.job().molecule;
}

AoIntegrals& integrals(SuperContext& context) {
  const Molecule& m = molecule(context);
  std::shared_ptr<void>& slot = context.slot("ao_integrals");
  if (!slot) slot = std::shared_ptr<AoIntegrals>(make_ao_integrals(m));
  return *static_cast<AoIntegrals*>(slot.get());
}

EcpIntegrals& ecp_integrals(SuperContext& context) {
  const Molecule& m = molecule(context);
  std::shared_ptr<void>& slot = context.slot("ecp_integrals");
  if (!slot) slot = std::shared_ptr<EcpIntegrals>(make_ecp_integrals(m, ecps_of_job(context.job())));
  return *static_cast<EcpIntegrals*>(slot.get());
}

FunctionRange range(const SuperArg& a, int position, int dimension) {
  if (a.kind[dimension] != IndexKind::ao)
    throw SialError(fmt::format("dimension {} of {} must be an aoindex", dimension + 1, describe(a, position)), "integrals are over atomic orbitals");
  return {a.offset[dimension], a.shape.extent[dimension]};
}

std::array<FunctionRange, 4> quartet_ranges(const SuperArg& x) {
  if (x.shape.rank != 4) throw SialError(fmt::format("{} must have four dimensions, it has {}", describe(x, 0), x.shape.rank));
  return {range(x, 0, 0), range(x, 0, 1), range(x, 0, 2), range(x, 0, 3)};
}

/// A matrix over basis functions, addressed by function numbers.
struct AoMatrix {
  AoMatrix(const SuperArg& a, int position) : data(a.data), rows(range(a, position, 0)), columns(range(a, position, 1)), text(describe(a, position)) {}
  double* at(std::int64_t column) const { return data + (column - columns.first) * rows.count - rows.first; }  // indexed by row number
  void require(FunctionRange r, FunctionRange c) const {
    auto inside = [](FunctionRange part, FunctionRange whole) { return part.first >= whole.first && part.first + part.count <= whole.first + whole.count; };
    if (!inside(r, rows) || !inside(c, columns)) throw SialError(fmt::format("{} does not hold the functions of this quartet", text), "pass matrices declared over all AO segments");
  }
  double* data;
  FunctionRange rows, columns;
  std::string text;
};

/// One arrangement (pq|rs) of the quartet: p..s say which dimension of the block each one is.
using Arrangement = std::array<int, 4>;

constexpr Arrangement arrangements[] = {{0, 1, 2, 3}, {1, 0, 2, 3}, {0, 1, 3, 2}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 0, 1}, {2, 3, 1, 0}, {3, 2, 1, 0}};

/// F[p,q] += (pq|rs) S[r,s], Fa[p,r] -= (pq|rs) Da[q,s], Fb likewise, for one arrangement.
void add_arrangement(const double* x, const std::array<FunctionRange, 4>& ranges, const Arrangement& m, const std::array<AoMatrix, 4>& matrices) {
  std::array<std::int64_t, 4> stride{1, 0, 0, 0};
  for (int d = 1; d < 4; ++d) stride[d] = stride[d - 1] * ranges[d - 1].count;
  const FunctionRange p = ranges[m[0]], q = ranges[m[1]], r = ranges[m[2]], s = ranges[m[3]];
  const auto& [da, db, fa, fb] = matrices;
  for (auto [row, column] : {std::pair{r, s}, {q, s}})
    for (const AoMatrix* d : {&da, &db}) d->require(row, column);
  for (auto [row, column] : {std::pair{p, q}, {p, r}})
    for (const AoMatrix* f : {&fa, &fb}) f->require(row, column);
  for (std::int64_t js = 0; js < s.count; ++js)
    for (std::int64_t jr = 0; jr < r.count; ++jr) {
      double density = da.at(s.first + js)[r.first + jr] + db.at(s.first + js)[r.first + jr];
      double *exchange_a = fa.at(r.first + jr) + p.first, *exchange_b = fb.at(r.first + jr) + p.first;
      for (std::int64_t jq = 0; jq < q.count; ++jq) {
        double density_a = da.at(s.first + js)[q.first + jq], density_b = db.at(s.first + js)[q.first + jq];
        double *coulomb_a = fa.at(q.first + jq) + p.first, *coulomb_b = fb.at(q.first + jq) + p.first;
        const double* line = x + js * stride[m[3]] + jr * stride[m[2]] + jq * stride[m[1]];
        for (std::int64_t jp = 0; jp < p.count; ++jp) {
          double value = line[jp * stride[m[0]]];
          coulomb_a[jp] += value * density;
          coulomb_b[jp] += value * density;
          exchange_a[jp] -= value * density_a;
          exchange_b[jp] -= value * density_b;
        }
      }
    }
}

/// Adds a segment quartet to the Fock matrices: each distinct quadruple of segments among the eight arrangements once.
void add_quartet(SuperContext& context, std::span<SuperArg> args, bool return_integrals) {
  const bool block_only = args.size() == 1;  // programs that declare just the block have no Fock matrices to add to
  if (block_only) expect_arguments(args, {Expect::block});
  else expect_arguments(args, {Expect::block, Expect::matrix, Expect::matrix, Expect::matrix, Expect::matrix});
  std::array<FunctionRange, 4> ranges = quartet_ranges(args[0]);
  if (block_only && !return_integrals) {
    std::fill_n(args[0].data, args[0].size(), 0.0);
    return;
  }
  integrals(context).repulsion(ranges, args[0].data);
  if (block_only) return;
  std::array<AoMatrix, 4> matrices{AoMatrix(args[1], 1), AoMatrix(args[2], 2), AoMatrix(args[3], 3), AoMatrix(args[4], 4)};
  std::set<std::array<std::int64_t, 4>> seen;
  for (const Arrangement& m : arrangements)
    if (seen.insert({ranges[m[0]].first, ranges[m[1]].first, ranges[m[2]].first, ranges[m[3]].first}).second) add_arrangement(args[0].data, ranges, m, matrices);
  if (!return_integrals) std::fill_n(args[0].data, args[0].size(), 0.0);
}

}  // namespace

void super_compute_nn_repulsion(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar});
  *args[0].data = nuclear_repulsion(molecule(context));
}

void super_return_ovl(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix});
  integrals(context).overlap(range(args[0], 0, 0), range(args[0], 0, 1), args[0].data);
}

void super_return_h1(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix});
  integrals(context).core_hamiltonian(range(args[0], 0, 0), range(args[0], 0, 1), args[0].data);
}

void super_return_1el_ecpints(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix});
  ecp_integrals(context).matrix(range(args[0], 0, 0), range(args[0], 0, 1), args[0].data);
}

void super_compute_integral_batch(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  integrals(context).repulsion(quartet_ranges(args[0]), args[0].data);
}

void super_compute_dipole_integrals(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::scalar, Expect::scalar});
  const Molecule& m = molecule(context);
  int k = static_cast<int>(*args[2].data), component = k > 9 ? k - 10 : k - 1;
  if (*args[2].data != k || component < 0 || component > 2)
    throw SialError(fmt::format("{} is not a dipole component", *args[2].data), "1, 2, 3 for x, y, z; 10, 11, 12 for the nuclei's part only");
  double nuclei = 0.0;
  for (const Atom& a : m.atoms) nuclei += a.charge * a.position[component];
  *args[1].data = nuclei;
  if (k > 9) std::fill_n(args[0].data, args[0].size(), 0.0);
  else integrals(context).dipole(component, range(args[0], 0, 0), range(args[0], 0, 1), args[0].data);
}

// The six names divide the quartets of segments into classes; the routine sees the class in the quartet itself.
void super_compute_ubatch1(SuperContext& context, std::span<SuperArg> args) { add_quartet(context, args, false); }
void super_compute_ubatch2(SuperContext& context, std::span<SuperArg> args) { add_quartet(context, args, false); }
void super_compute_ubatch4(SuperContext& context, std::span<SuperArg> args) { add_quartet(context, args, false); }
void super_compute_ubatch6(SuperContext& context, std::span<SuperArg> args) { add_quartet(context, args, true); }
void super_compute_ubatch7(SuperContext& context, std::span<SuperArg> args) { add_quartet(context, args, false); }
void super_compute_ubatch8(SuperContext& context, std::span<SuperArg> args) { add_quartet(context, args, false); }

}  // namespace sial
