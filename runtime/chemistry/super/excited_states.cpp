// Super instructions of excited-state programs: starting vectors, same-spin antisymmetry, core orbitals.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/super/fragments.h"
#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

void require_amplitudes(const SuperArg& x) {
  if (x.shape.rank != 4)
    throw SialError(fmt::format("{} must have rank 4 as in x[a,i,b,j], it has {}", describe(x, 0), x.shape.rank));
}

bool same_orbitals(const SuperArg& x, int p, int q) {
  return x.offset[p] == x.offset[q] && x.segment[p] == x.segment[q] && x.shape.extent[p] == x.shape.extent[q];
}

/// Zeroes the elements with equal orbitals at positions 1 and 3, and with `occupied` those with equal ones at 2 and 4.
void zero_equal_pairs(SuperArg& x, bool occupied) {
  for_each_element(x.shape, [&](const auto& at, std::int64_t n) {
    bool equal_virtual = global_position(x, 0, at[0]) == global_position(x, 2, at[2]);
    bool equal_occupied = occupied && global_position(x, 1, at[1]) == global_position(x, 3, at[3]);
    if (equal_virtual || equal_occupied) x.data[n] = 0.0;
  });
}

/// Where dimensions d and d+2 cover the same orbitals: x with p > q there := minus its mirror image.
void mirror(SuperArg& x, int d) {
  if (!same_orbitals(x, d, d + 2)) return;
  std::array<std::int64_t, 4> stride{1, 0, 0, 0};
  for (int k = 1; k < 4; ++k) stride[k] = stride[k - 1] * x.shape.extent[k - 1];
  for_each_element(x.shape, [&](const auto& at, std::int64_t n) {
    if (at[d] < at[d + 2]) x.data[n + (at[d + 2] - at[d]) * (stride[d] - stride[d + 2])] = -x.data[n];
  });
}

/// Whether the job's occupied range is orbital 1 alone: no pair i < j exists, and programs keep x[a,1,b,1].
bool single_occupied_orbital(SuperContext& context) {
  const auto& ints = context.job().ints;
  auto value = [&](const char* name) {
    auto it = ints.find(name);
    return it == ints.end() ? -1 : it->second;
  };
  if (value("baocc") != 1 || value("eaocc") != 1) return false;
  for (IndexKind kind : {IndexKind::moa, IndexKind::mo}) {
    auto table = context.job().segments.find(kind);
    if (table != context.job().segments.end() && !table->second.empty()) return table->second.front() == 1;
  }
  return false;
}

/// Core orbitals of an atom as drop_core_in_sip counts them. From the third row on these are numbers of electrons, not
/// of orbitals: programs were written against that.
std::int64_t dropped_columns(std::int32_t charge) {
  if (charge <= 2) return 0;
  if (charge <= 10) return 1;
  if (charge <= 18) return 10;
  if (charge <= 36) return 18;
  return charge <= 54 ? 36 : 54;
}

/// Elements of h[a,i] that are no excitation: exactly 0, for a virtual and an occupied orbital of different fragments.
/// A program that excites each fragment by itself leaves them so.
std::vector<bool> between_fragments(SuperContext& context, const SuperArg& h) {
  std::vector<bool> result(h.size(), false);
  const auto count = context.job().ints.find("nfrags");
  if (count == context.job().ints.end() || count->second < 2 || !chemistry(context.job()).has_molecule) return result;
  if (!Fragments::own_orbitals(context.job(), h.kind[0]) || !Fragments::own_orbitals(context.job(), h.kind[1]))
    return result;
  const Fragments fragments(context);
  const std::vector<std::int32_t> virtuals = fragments.orbital_owners(h.kind[0]),
                                  occupied = fragments.orbital_owners(h.kind[1]);
  for_each_element(h.shape, [&](const auto& at, std::int64_t n) {
    const std::size_t a = global_position(h, 0, at[0]), i = global_position(h, 1, at[1]);
    result[n] = h.data[n] == 0.0 && a < virtuals.size() && i < occupied.size() && virtuals[a] != occupied[i];
  });
  return result;
}

}  // namespace

void super_cis_unit_guess(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  SuperArg& c = args[0];
  const SuperArg& h = args[1];
  if (c.shape.rank != 3 || h.shape.rank != 2 || c.shape.extent[1] != h.shape.extent[0] ||
      c.shape.extent[2] != h.shape.extent[1])
    throw SialError(fmt::format("{} and {} do not fit as c[k,a,i] and h[a,i]", describe(c, 0), describe(h, 1)));
  if (c.letter == 'r' && !c.whole_array)
    throw SialError(fmt::format("{} is declared `r` but is what this instruction writes", describe(c, 0)),
                    "declare it `special cis_unit_guess ur`");
  const std::int64_t vectors = c.shape.extent[0], elements = h.size();
  // A block over a simple index holds the vector of its value; anything else the vectors from the first on.
  const std::int64_t first = c.kind[0] == IndexKind::simple && !c.whole_array ? c.segment[0] - 1 : c.offset[0];
  if (first + vectors > elements)
    throw SialError(
        fmt::format("{} asks for {} starting vectors, but {} has only {} elements", describe(c, 0), first + vectors,
                    describe(h, 1), elements),
        "there are as many single excitations as pairs of an occupied and a virtual orbital: ask for fewer roots");
  const std::vector<bool> left_out = between_fragments(context, h);
  std::vector<std::int64_t> order;
  for (std::int64_t n = 0; n < elements; ++n)
    if (!left_out[n]) order.push_back(n);
  if (first + vectors > std::ssize(order))
    throw SialError(
        fmt::format("{} asks for {} starting vectors, but {} has only {} elements beside the zeros between fragments",
                    describe(c, 0), first + vectors, describe(h, 1), order.size()),
        "an excitation from one fragment to another whose energy is 0 is none: ask for fewer roots, or give these elements too");
  // Of equal elements the last in memory (i outer, a inner) comes first.
  std::sort(order.begin(), order.end(),
            [&](std::int64_t p, std::int64_t q) { return h.data[p] != h.data[q] ? h.data[p] < h.data[q] : p > q; });
  std::fill_n(c.data, c.size(), 0.0);
  for (std::int64_t k = 0; k < vectors; ++k) c.data[k + vectors * order[first + k]] = 1.0;
}

void super_anti_symm_o(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  require_amplitudes(args[0]);
  mirror(args[0], 1);
  zero_equal_pairs(args[0], true);
}

void super_anti_symm_v(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  require_amplitudes(args[0]);
  mirror(args[0], 0);
  zero_equal_pairs(args[0], !single_occupied_orbital(context));
}

void super_drop_core_in_sip(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::block});
  std::int64_t core = 0;
  for (const Atom& a : require_molecule(context.job()).atoms)
    core += dropped_columns(static_cast<std::int32_t>(a.charge));
  SuperArg& c = args[0];
  for (std::int64_t i = 0; i < c.shape.extent[1]; ++i)
    if (global_position(c, 1, i) < core) std::fill_n(c.data + i * c.shape.extent[0], c.shape.extent[0], 0.0);
}

}  // namespace sial
