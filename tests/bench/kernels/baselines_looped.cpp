// Direct looped GEMM: some labels form the matrices, the others are loops around it. Every subset of labels whose
// sub-blocks are matrices as they lie is a candidate; an estimate ranks them and the caller measures the first few.

#include <fmt/format.h>

#include <algorithm>

#include "tests/bench/kernels/layout.h"

namespace bench {
namespace {

/// Seconds, roughly, on a core of 40 GFLOP/s: small extents waste vector registers, calls cost what the library checks.
double estimate(const Product& p, double calls, bool xsmm) {
  const auto efficiency = [](std::int64_t extent, double half) {
    return static_cast<double>(extent) / (static_cast<double>(extent) + half);
  };
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const double speed =
      40e9 * efficiency(p.m, xsmm ? 3 : 12) * efficiency(p.n, xsmm ? 1 : 6) * efficiency(p.k, xsmm ? 4 : 16);
  return calls * (flops / speed + (xsmm ? 2e-8 : 2e-7));
}

Dims chosen(const Dims& dims, unsigned mask, unsigned& bit, bool inside) {
  Dims result;
  for (const Dim& dim : dims)
    if (((mask >> bit++ & 1u) != 0) == inside) result.push_back(dim);
  return result;
}

}  // namespace

std::vector<Looped> Looped::candidates(const Problem& p, bool xsmm, int count) {
  std::vector<Looped> found;
  const auto labels = static_cast<unsigned>(p.rows.size() + p.columns.size() + p.summed.size());
  for (unsigned mask = 1; mask < 1u << labels; ++mask) {
    unsigned bit = 0;
    const Dims rows = chosen(p.rows, mask, bit, true), columns = chosen(p.columns, mask, bit, true),
               summed = chosen(p.summed, mask, bit, true);
    const std::int64_t m = volume(rows), n = volume(columns), k = volume(summed);
    for_each_order(rows, columns, summed, [&](const Layout& layout) {
      if (!layout.d.usable || !layout.a.usable || !layout.b.usable) return;
      Looped way;
      way.problem_ = &p;
      way.swapped_ = layout.d.transposed;
      way.product_ = product_of(layout, m, n, k);
      way.calls_ = static_cast<double>(p.m * p.n * p.k / std::max<std::int64_t>(1, m * n * k));
      way.estimate_ = estimate(way.product_, way.calls_, xsmm);
      bit = 0;
      for (const Dims* group : {&p.rows, &p.columns, &p.summed})
        for (const Dim& dim : chosen(*group, mask, bit, false))
          if (dim.extent > 1)
            (group == &p.summed ? way.summed_ : way.free_).push_back({dim.extent, dim.d, dim.a, dim.b});
      // Walk D in its own order: neighbouring results share cache lines.
      std::sort(way.free_.begin(), way.free_.end(), [](const Loop& x, const Loop& y) { return x.d < y.d; });
      found.push_back(std::move(way));
    });
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Looped& x, const Looped& y) { return x.estimate_ < y.estimate_; });
  std::vector<Looped> result;
  for (Looped& way : found) {
    if (static_cast<int>(result.size()) == count) break;
    const auto repeats = [&](const Looped& r) { return r.inner() == way.inner(); };
    if (std::any_of(result.begin(), result.end(), repeats)) continue;
    const double beta = p.op().beta;
    if (xsmm) {
      way.first_ = xsmm_product(way.product_, beta);
      way.more_ = xsmm_product(way.product_, 1.0);
      if (!way.first_ || !way.more_) continue;
    } else {
      const Product product = way.product_;
      way.first_ = [product, beta](const double* a, const double* b, double* d) {
        blas_product(product, a, b, d, beta);
      };
      way.more_ = [product](const double* a, const double* b, double* d) { blas_product(product, a, b, d, 1.0); };
    }
    result.push_back(std::move(way));
  }
  return result;
}

void Looped::run() const {
  const auto walk = [](const std::vector<Loop>& loops, auto&& body) {
    std::array<std::int64_t, 16> at{};
    std::int64_t d = 0, a = 0, b = 0;
    for (;;) {
      body(d, a, b);
      std::size_t i = 0;
      for (; i < loops.size(); ++i) {
        d += loops[i].d, a += loops[i].a, b += loops[i].b;
        if (++at[i] < loops[i].extent) break;
        d -= loops[i].d * loops[i].extent, a -= loops[i].a * loops[i].extent, b -= loops[i].b * loops[i].extent;
        at[i] = 0;
      }
      if (i == loops.size()) return;
    }
  };
  const sial::BlockOp& op = problem_->op();
  walk(free_, [&](std::int64_t d, std::int64_t a, std::int64_t b) {
    bool started = false;
    walk(summed_, [&](std::int64_t, std::int64_t more_a, std::int64_t more_b) {
      const double* x = op.a.data + a + more_a;
      const double* y = op.b.data + b + more_b;
      (started ? more_ : first_)(swapped_ ? y : x, swapped_ ? x : y, op.d.data + d);
      started = true;
    });
  });
}

std::string Looped::inner() const {
  return fmt::format("{:.0f} x {}x{}x{}{}{}", calls_, product_.m, product_.n, product_.k,
                     product_.a_transposed ? " T" : " N", product_.b_transposed ? "T" : "N");
}

}  // namespace bench
