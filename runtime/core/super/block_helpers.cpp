// Small super instructions on one or two blocks: elements, diagonals, slices.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

void require_square(const SuperArg& a, int position, int p, int q) {
  if (a.shape.extent[p] != a.shape.extent[q])
    throw SialError(fmt::format("{} is not square: extents {} and {} of dimensions {} and {}", describe(a, position),
                                a.shape.extent[p], a.shape.extent[q], p + 1, q + 1));
}

void require_rank_2_or_4(const SuperArg& a, int position) {
  if (a.shape.rank != 2 && a.shape.rank != 4)
    throw SialError(fmt::format("{} must have rank 2 or 4, it has {}", describe(a, position), a.shape.rank));
  for (int d = 0; d < a.shape.rank; d += 2) require_square(a, position, d, d + 1);
}

void require_same_shape(std::span<SuperArg> args) {
  if (!(args[0].shape == args[1].shape))
    throw SialError(fmt::format("{} and {} differ in shape", describe(args[0], 0), describe(args[1], 1)));
}

/// x / y; x itself where y is zero, or so small that the quotient is out of range.
double divided_or_kept(double x, double y) {
  const double quotient = x / y;
  return y == 0.0 || (std::isinf(quotient) && std::isfinite(x)) ? x : quotient;
}

}  // namespace

void super_get_my_rank(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar});
  *args[0].data = context.rank();
}

void super_return_sval(SuperContext&, std::span<SuperArg> args) {
  if (args.size() != 2 || args[0].size() == 0)
    throw SialError("return_sval takes a block with at least one element, and a scalar");
  *args[1].data = args[0].data[args[0].size() - 1];
}

void super_check_dconf(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::scalar});
  double largest = 0.0;
  for (std::int64_t i = 0; i < args[0].size(); ++i) {
    double x = std::abs(args[0].data[i]);
    if (x > largest || std::isnan(x)) largest = x;  // a NaN must not look converged
  }
  *args[1].data = largest;
}

void super_return_diagonal_elements(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  require_rank_2_or_4(args[0], 0);
  for_each_element(args[0].shape, [&](const auto& at, std::int64_t i) {
    if (at[0] != at[1] || (args[0].shape.rank == 4 && at[2] != at[3])) args[0].data[i] = 0.0;
  });
}

void super_return_diagonal(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::scalar});
  require_rank_2_or_4(args[0], 0);
  bool pairs = args[0].shape.rank == 4;
  double sum = 0.0;
  for_each_element(args[0].shape, [&](const auto& at, std::int64_t i) {
    bool first = at[0] == at[1], second = pairs ? at[2] == at[3] : first;
    if (first && second) sum += args[0].data[i];
    if (!first && !second) args[0].data[i] = 0.0;  // rank 4 keeps elements with one equal pair
  });
  *args[1].data = sum;
}

void super_remove_diagonal(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix});
  const SuperArg& a = args[0];
  if (a.segment[0] != a.segment[1]) return;
  require_square(a, 0, 0, 1);
  for (std::int64_t p = 0; p < a.shape.extent[0]; ++p) a.data[p * (a.shape.extent[0] + 1)] = 0.0;
}

void super_invert_diagonal(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  require_same_shape(args);
  for (std::int64_t i = 0; i < args[0].size(); ++i) args[0].data[i] = divided_or_kept(args[0].data[i], args[1].data[i]);
}

void super_invert_diagonal_asym(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  require_same_shape(args);
  SuperArg& t = args[0];
  if (t.shape.rank != 5)
    throw SialError(fmt::format("{} must have rank 5 as in t[k,a,i,b,j], it has {}", describe(t, 0), t.shape.rank));
  for_each_element(t.shape, [&](const auto& at, std::int64_t i) {
    bool differ = global_position(t, 1, at[1]) != global_position(t, 3, at[3]) &&
                  global_position(t, 2, at[2]) != global_position(t, 4, at[4]);
    t.data[i] = differ ? divided_or_kept(t.data[i], args[1].data[i]) : 0.0;
  });
}

BlockForm block_form_stripi(std::span<const SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  const SuperArg &source = args[0], &target = args[1];
  if (source.shape.rank != target.shape.rank)
    throw SialError(fmt::format("{} and {} differ in rank", describe(source, 0), describe(target, 1)));
  BlockForm form;
  form.d.argument = 1;
  form.a.argument = 0;
  std::array<std::int64_t, max_rank>& start = form.a.start;
  for (int d = 0; d < source.shape.rank; ++d) {
    form.d.label[d] = form.a.label[d] = d;
    bool selects = target.kind[d] == IndexKind::simple && source.kind[d] != IndexKind::simple;
    if (selects) {
      start[d] = target.segment[d] - 1 - source.offset[d];
      if (start[d] < 0 || start[d] >= source.shape.extent[d])
        throw SialError(fmt::format("orbital {} is not in {}: that block holds {} to {} in dimension {}",
                                    target.segment[d], describe(source, 0), source.offset[d] + 1,
                                    source.offset[d] + source.shape.extent[d], d + 1));
    } else if (source.shape.extent[d] != target.shape.extent[d]) {
      throw SialError(fmt::format("{} and {} differ in dimension {}", describe(source, 0), describe(target, 1), d + 1),
                      "a dimension is cut only by a simple index");
    }
  }
  return form;
}

void super_stripi(SuperContext&, std::span<SuperArg> args) {
  const auto start = block_form_stripi(args).a.start;
  const SuperArg &source = args[0], &target = args[1];
  std::array<std::int64_t, max_rank> stride{};
  std::int64_t s = 1;
  for (int d = 0; d < source.shape.rank; ++d) {
    stride[d] = s;
    s *= source.shape.extent[d];
  }
  for_each_element(target.shape, [&](const auto& at, std::int64_t i) {
    std::int64_t from = 0;
    for (int d = 0; d < source.shape.rank; ++d) from += (start[d] + at[d]) * stride[d];
    target.data[i] = source.data[from];
  });
}

void super_set_flags2(SuperContext&, std::span<SuperArg>) {}
void super_compute_int_scratchmem(SuperContext&, std::span<SuperArg>) {}
void super_compute_int_scratchmem_lowmem(SuperContext&, std::span<SuperArg>) {}

void super_a4_dscale(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::matrix, Expect::block, Expect::scalar});
  const SuperArg &c = args[0], &occupation = args[1];
  for (std::int64_t p = 0; p < c.shape.extent[1]; ++p) {
    std::int64_t orbital = global_position(c, 1, p);
    if (orbital >= occupation.size())
      throw SialError(fmt::format("{} has {} elements, orbital {} is needed", describe(occupation, 1),
                                  occupation.size(), orbital + 1));
    for (std::int64_t m = 0; m < c.shape.extent[0]; ++m) c.data[m + p * c.shape.extent[0]] *= occupation.data[orbital];
  }
}

void super_print_iteration(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::scalar, Expect::scalar, Expect::scalar, Expect::scalar});
  if (*args[0].data == 1.0)
    context.out() << fmt::format("{:>10}{:>22}{:>14}{:>14}\n", "iteration", "energy", "change", "residual");
  context.out() << fmt::format("{:>10.0f}{:>22.12f}{:>14.2e}{:>14.2e}", *args[0].data, *args[1].data, *args[2].data,
                               *args[3].data)
                << std::endl;
  // A nan would never be below a threshold: the iterations would go on to the last.
  if (!std::isfinite(*args[1].data) || !std::isfinite(*args[3].data))
    throw SialError("the iterations have led to an energy or a residual that is no finite number",
                    "`print max(...)` of the blocks that it is made of shows where it comes from; a cause is an array "
                    "that `put +=` adds to without having been zeroed");
}

SialError zero_difference(const SuperArg& block) {
  return SialError(fmt::format("an energy denominator of {} is zero", describe(block, 0)),
                   "is the Fock matrix filled, and is its diagonal that of these orbitals?");
}

}  // namespace sial
