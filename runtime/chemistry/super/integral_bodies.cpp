// Super instructions on integrals: blocks of one- and two-electron integrals, and the direct Fock build.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "runtime/chemistry/basis/ecp.h"
#include "runtime/chemistry/integrals/ecp_integrals.h"
#include "runtime/chemistry/integrals/fock_quartet.h"
#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/hamiltonian.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

const Molecule& molecule(SuperContext& context) {
  if (!chemistry(context.job()).has_molecule) {
    const auto& why = chemistry(context.job()).molecule.basis_name;  // said by initial-data files
    throw SialError("this job has no molecule",
                    why.empty() ? "give one in [molecule] of the job file: xyz and basis" : why);
  }
  return chemistry(context.job()).molecule;
}

AoIntegrals& integrals(SuperContext& context) {
  std::shared_ptr<void>& slot = context.slot("ao_integrals");
  if (!slot) {
    const auto& hamiltonian = chemistry(context.job()).hamiltonian;
    slot =
        std::shared_ptr<AoIntegrals>(hamiltonian ? make_hamiltonian_integrals(hamiltonian)
                                                 : make_ao_integrals(molecule(context), integral_code(context.job())));
  }
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
    throw SialError(fmt::format("dimension {} of {} must be an aoindex", dimension + 1, describe(a, position)),
                    "integrals are over atomic orbitals");
  return {a.offset[dimension], a.shape.extent[dimension]};
}

std::array<FunctionRange, 4> quartet_ranges(const SuperArg& x) {
  if (x.shape.rank != 4)
    throw SialError(fmt::format("{} must have four dimensions, it has {}", describe(x, 0), x.shape.rank));
  return {range(x, 0, 0), range(x, 0, 1), range(x, 0, 2), range(x, 0, 3)};
}

/// A quartet of segments and the arrangement of it that is kept: (m n|l s) with m <= n, l <= s and (m, n) not after (l,
/// s).
struct Arranged {
  explicit Arranged(const SuperArg& x) : ranges(quartet_ranges(x)) {
    if (ranges[0].first > ranges[1].first) std::swap(dimension[0], dimension[1]);
    if (ranges[2].first > ranges[3].first) std::swap(dimension[2], dimension[3]);
    const auto pair = [&](int d) { return std::pair{ranges[dimension[d]].first, ranges[dimension[d + 1]].first}; };
    if (pair(2) < pair(0)) {
      std::swap(dimension[0], dimension[2]);
      std::swap(dimension[1], dimension[3]);
    }
    block.rank = 4;
    for (int d = 0; d < 4; ++d) {
      canonical[d] = ranges[dimension[d]];
      block.segment[d] = x.segment[dimension[d]];
    }
  }
  bool is_canonical() const { return dimension == std::array{0, 1, 2, 3}; }
  std::array<FunctionRange, 4> ranges, canonical;
  std::array<int, 4> dimension{0, 1, 2, 3};  // of the quartet, for each one of what is kept
  BlockIndex block;
};

/// Integrals that are kept: found, or computed and kept from now on. Null where there is no room, or where indices run
/// over parts of segments.
class CachedQuartet {
 public:
  CachedQuartet(SuperContext& context, const Arranged& quartet) : context_(context) {
    std::int64_t size = 1;
    for (int d = 0; d < 4; ++d) size *= quartet.canonical[d].count;
    if (chemistry(context.job()).hamiltonian || !whole_segments(quartet))
      return;  // those of a Hamiltonian are in memory already
    data_ = context.find_cached(quartet.block, size);
    if (data_) return;
    double* room = context.allocate_cached(size);
    if (!room) return;
    data_ = room;  // given back if the integrals cannot be computed
    integrals(context).repulsion(quartet.canonical, room);
    context.keep_block(quartet.block, room);
  }
  ~CachedQuartet() {
    if (data_) context_.release_cached(data_);
  }
  CachedQuartet(const CachedQuartet&) = delete;
  CachedQuartet& operator=(const CachedQuartet&) = delete;
  const double* data() const { return data_; }

 private:
  bool whole_segments(const Arranged& quartet) const {
    const auto& segments = context_.job().segments;
    const auto ao = segments.find(IndexKind::ao);
    if (ao == segments.end()) return false;
    for (int d = 0; d < 4; ++d) {
      const std::int32_t number = quartet.block.segment[d];
      if (number < 1 || number > std::ssize(ao->second) ||
          ao->second[static_cast<std::size_t>(number) - 1] != quartet.canonical[d].count)
        return false;
    }
    return true;
  }

  SuperContext& context_;
  const double* data_ = nullptr;
};

/// The block from what is kept, whose dimension d is the block's dimension[d].
void copy_arranged(const double* from, const Arranged& quartet, double* to) {
  std::array<std::int64_t, 4> step{}, extent{};  // by the block's dimensions: in what is kept
  std::int64_t stride = 1;
  int first = 0;  // the one that runs fastest there
  for (int d = 0; d < 4; ++d) {
    step[quartet.dimension[d]] = stride;
    extent[d] = quartet.ranges[d].count;
    if (d == 0) first = quartet.dimension[d];
    stride *= quartet.canonical[d].count;
  }
  const std::array<std::int64_t, 4> out{1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2]};
  constexpr std::int64_t tile = 8;
  // Squares of dimension 0 and the one that is contiguous in what is kept, for all of the other two.
  const int other = first == 0 ? 1 : first;
  std::array<int, 2> outer{};
  for (int d = 1, n = 0; d < 4; ++d)
    if (d != other) outer[n++] = d;
  for (std::int64_t l = 0; l < extent[outer[1]]; ++l)
    for (std::int64_t k = 0; k < extent[outer[0]]; ++k) {
      const double* source = from + l * step[outer[1]] + k * step[outer[0]];
      double* target = to + l * out[outer[1]] + k * out[outer[0]];
      if (first == 0) {
        for (std::int64_t j = 0; j < extent[other]; ++j)
          std::copy_n(source + j * step[other], extent[0], target + j * out[other]);
        continue;
      }
      for (std::int64_t j0 = 0; j0 < extent[other]; j0 += tile)
        for (std::int64_t i0 = 0; i0 < extent[0]; i0 += tile)
          for (std::int64_t j = j0; j < std::min(j0 + tile, extent[other]); ++j)
            for (std::int64_t i = i0; i < std::min(i0 + tile, extent[0]); ++i)
              target[i + j * out[other]] = source[i * step[0] + j];
    }
}

FockMatrix fock_matrix(const SuperArg& a, int position, const std::array<FunctionRange, 4>& quartet) {
  const FockMatrix m{a.data, range(a, position, 0), range(a, position, 1)};
  const auto inside = [](FunctionRange part, FunctionRange whole) {
    return part.first >= whole.first && part.first + part.count <= whole.first + whole.count;
  };
  for (const FunctionRange& r : quartet)
    if (!inside(r, m.rows) || !inside(r, m.columns))
      throw SialError(fmt::format("{} does not hold the functions of this quartet", describe(a, position)),
                      "pass matrices declared over all AO segments");
  return m;
}

/// Adds a segment quartet to the Fock matrices: each distinct quadruple of segments among the eight arrangements once.
void add_quartet(SuperContext& context, std::span<SuperArg> args, bool return_integrals) {
  const bool block_only = args.size() == 1;  // programs that declare just the block have no Fock matrices to add to
  if (block_only) expect_arguments(args, {Expect::block});
  else expect_arguments(args, {Expect::block, Expect::matrix, Expect::matrix, Expect::matrix, Expect::matrix});
  const Arranged quartet(args[0]);
  if (block_only && !return_integrals) {
    std::fill_n(args[0].data, args[0].size(), 0.0);
    return;
  }
  std::array<FockMatrix, 4> matrices;
  if (!block_only)
    for (int k = 0; k < 4; ++k)
      matrices[static_cast<std::size_t>(k)] = fock_matrix(args[static_cast<std::size_t>(k) + 1], k + 1, quartet.ranges);
  const CachedQuartet canonical(context, quartet);
  const double* x = quartet.is_canonical() ? canonical.data() : nullptr;
  if (!x || return_integrals) {
    if (canonical.data()) copy_arranged(canonical.data(), quartet, args[0].data);
    else if (return_integrals) integrals(context).repulsion(quartet.ranges, args[0].data);
    else integrals(context).repulsion(quartet.ranges, args[0].data, std::span(matrices).first(2));
    x = args[0].data;
  }
  if (block_only) return;
  add_to_fock(x, quartet.ranges, matrices[0], matrices[1], matrices[2], matrices[3]);
  if (!return_integrals) std::fill_n(args[0].data, args[0].size(), 0.0);
}

}  // namespace

void super_compute_nn_repulsion(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar});
  const auto& hamiltonian = chemistry(context.job()).hamiltonian;
  *args[0].data = hamiltonian ? hamiltonian->core_energy : nuclear_repulsion(molecule(context));
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
  const Arranged quartet(args[0]);
  const CachedQuartet canonical(context, quartet);
  if (canonical.data()) copy_arranged(canonical.data(), quartet, args[0].data);
  else integrals(context).repulsion(quartet.ranges, args[0].data);
}

void super_compute_dipole_integrals(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::scalar, Expect::scalar});
  const Molecule& m = molecule(context);
  int k = static_cast<int>(*args[2].data), component = k > 9 ? k - 10 : k - 1;
  if (*args[2].data != k || component < 0 || component > 2)
    throw SialError(fmt::format("{} is not a dipole component", *args[2].data),
                    "1, 2, 3 for x, y, z; 10, 11, 12 for the nuclei's part only");
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
