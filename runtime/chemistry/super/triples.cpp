// Super instructions of coupled-cluster programs: the work list of the perturbative triples, and the particle-particle
// ladder over atomic orbitals.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"
#include "runtime/core/super/dense_algebra.h"

namespace sial {
namespace {

struct OrbitalPiece {
  std::int32_t segment;
  std::int64_t first, last;
};  // segment from 1; orbitals numbered over all segments, from 1

std::int32_t required_int(SuperContext& context, const char* name) {
  auto it = context.job().ints.find(name);
  if (it == context.job().ints.end())
    throw SialError(fmt::format("the job has no int `{}`", name), "a [molecule] or a legacy data file defines it");
  return it->second;
}

/// The active occupied segments, each cut into pieces of at most about five orbitals.
std::vector<OrbitalPiece> occupied_pieces(SuperContext& context, std::int32_t& n_segments) {
  const std::int32_t begin = required_int(context, "baocc"), end = required_int(context, "eaocc");
  auto table = context.job().segments.find(IndexKind::moa);
  if (table == context.job().segments.end() || begin < 1 || end > std::ssize(table->second))
    throw SialError(fmt::format("the job has no `moa` segments {} to {}", begin, end),
                    "give [segments] moa, or a molecule");
  const std::vector<std::int32_t>& sizes = table->second;
  std::int64_t most = 5;
  for (std::int32_t s = begin; s <= end; ++s)
    if (sizes[s - 1] <= most) most = std::max<std::int64_t>(1, most - 1);
  std::int64_t orbital = 0;
  for (std::int32_t s = 1; s < begin; ++s) orbital += sizes[s - 1];
  std::vector<OrbitalPiece> pieces;
  for (std::int32_t s = begin; s <= end; ++s) {
    const std::int64_t size = sizes[s - 1], count = (size + most - 1) / most;
    for (std::int64_t p = 0; p < count; ++p) {
      const std::int64_t length = size / count;
      pieces.push_back(
          {s - begin + 1, orbital + p * length + 1, p + 1 == count ? orbital + size : orbital + (p + 1) * length});
    }
    orbital += size;
  }
  n_segments = end - begin + 1;
  return pieces;
}

void work_list(SuperContext& context, std::span<SuperArg> args, bool ordered_k) {
  expect_arguments(args, {Expect::matrix});
  SuperArg& x = args[0];
  if (x.shape.extent[1] < 7)
    throw SialError(fmt::format("{} must have seven columns, it has {}", describe(x, 0), x.shape.extent[1]));
  std::int32_t n_segments = 0;
  const std::vector<OrbitalPiece> pieces = occupied_pieces(context, n_segments);
  const std::int64_t rows = x.shape.extent[0];
  std::int64_t row = 0;
  auto add = [&](const std::array<double, 7>& values) {
    if (row < rows)
      for (int c = 0; c < 7; ++c) x.data[row + c * rows] = values[c];
    ++row;
  };
  for (const OrbitalPiece& i : pieces)
    for (const OrbitalPiece& j : pieces) {
      if (i.segment > j.segment) continue;
      for (std::int32_t k = ordered_k ? j.segment : 1; k <= n_segments; ++k)
        add({double(i.segment), double(i.first), double(i.last), double(j.segment), double(j.first), double(j.last),
             double(k)});
    }
  add({-1, -1, -1, -1, -1, -1, -1});
  if (row > rows)
    throw SialError(fmt::format("{} has {} rows, and the work list of {} occupied segments needs {}", describe(x, 0),
                                rows, n_segments, row),
                    "declare it with more rows, or cut the occupied orbitals into fewer segments");
}

/// Column-major copy of a rank-4 array with its dimensions in another order.
std::vector<double> reordered(const SuperArg& x, const std::array<int, 4>& order) {
  std::array<std::int64_t, 4> stride{1, 0, 0, 0};
  for (int d = 1; d < 4; ++d) stride[d] = stride[d - 1] * x.shape.extent[d - 1];
  std::vector<double> result(x.size());
  double* out = result.data();
  const std::array<std::int64_t, 4> n{x.shape.extent[order[0]], x.shape.extent[order[1]], x.shape.extent[order[2]],
                                      x.shape.extent[order[3]]};
  for (std::int64_t s = 0; s < n[3]; ++s)
    for (std::int64_t r = 0; r < n[2]; ++r)
      for (std::int64_t q = 0; q < n[1]; ++q) {
        const double* line = x.data + s * stride[order[3]] + r * stride[order[2]] + q * stride[order[1]];
        for (std::int64_t p = 0; p < n[0]; ++p) *out++ = line[p * stride[order[0]]];
      }
  return result;
}

}  // namespace

void super_set_ijk_aaa(SuperContext& context, std::span<SuperArg> args) { work_list(context, args, true); }
void super_set_ijk_aab(SuperContext& context, std::span<SuperArg> args) { work_list(context, args, false); }

BlockForm block_form_aoladder_contraction(std::span<const SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block, Expect::block});
  const SuperArg &v = args[0], &old = args[1], &result = args[2];
  if (v.shape.rank != 4 || old.shape.rank != 4 || result.shape.rank != 4)
    throw SialError("takes three arguments of rank 4: v[a,b,c,d], told[a,i,c,j], tnew[b,i,d,j]");
  auto fits = [](const SuperArg& p, int d, const SuperArg& q, int e) { return p.shape.extent[d] == q.shape.extent[e]; };
  if (!fits(v, 0, old, 0) || !fits(v, 2, old, 2) || !fits(v, 1, result, 0) || !fits(v, 3, result, 2) ||
      !fits(old, 1, result, 1) || !fits(old, 3, result, 3))
    throw SialError(fmt::format("the extents of {}, {} and {} do not fit as v[a,b,c,d], told[a,i,c,j], tnew[b,i,d,j]",
                                describe(v, 0), describe(old, 1), describe(result, 2)));
  return {{2, {'b', 'i', 'd', 'j'}, {}}, {0, {'a', 'b', 'c', 'd'}, {}}, {1, {'a', 'i', 'c', 'j'}, {}}, 1.0, 1.0};
}

void super_aoladder_contraction(SuperContext&, std::span<SuperArg> args) {
  block_form_aoladder_contraction(args);
  const SuperArg &v = args[0], &old = args[1];
  SuperArg& result = args[2];
  const std::vector<double> integrals = reordered(v, {0, 2, 1, 3}), amplitudes = reordered(old, {0, 2, 1, 3});
  const std::int64_t inner = v.shape.extent[0] * v.shape.extent[2], rows = v.shape.extent[1] * v.shape.extent[3],
                     columns = old.shape.extent[1] * old.shape.extent[3];
  std::vector<double> sum(rows * columns);
  multiply_matrices(true, false, rows, columns, inner, integrals.data(), amplitudes.data(), 0.0, sum.data());
  // sum is [b,d,i,j], the target [b,i,d,j]
  const std::int64_t nb = v.shape.extent[1], nd = v.shape.extent[3], ni = old.shape.extent[1], nj = old.shape.extent[3];
  for (std::int64_t j = 0; j < nj; ++j)
    for (std::int64_t d = 0; d < nd; ++d)
      for (std::int64_t i = 0; i < ni; ++i)
        for (std::int64_t b = 0; b < nb; ++b)
          result.data[b + nb * (i + ni * (d + nd * j))] += sum[b + nb * (d + nd * (i + ni * j))];
}

}  // namespace sial
