#include "tests/bench/kernels/baselines.h"

#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/bench/kernels/layout.h"

namespace bench {
namespace {

/// to[permuted] = from + beta * to over strided dims, in square tiles where the two sides disagree about the contiguous
/// dimension.
void permute(double* to, const double* from, std::vector<std::array<std::int64_t, 3>> dims, int to_stride,
             double beta) {
  const int from_stride = 3 - to_stride;
  std::erase_if(dims, [](const auto& d) { return d[0] == 1; });
  std::sort(dims.begin(), dims.end(), [&](const auto& p, const auto& q) { return p[to_stride] < q[to_stride]; });
  std::vector<std::array<std::int64_t, 3>> fused;
  for (const auto& d : dims) {
    if (!fused.empty() && d[1] == fused.back()[1] * fused.back()[0] && d[2] == fused.back()[2] * fused.back()[0])
      fused.back()[0] *= d[0];
    else fused.push_back(d);
  }
  if (fused.empty()) fused.push_back({1, 1, 1});
  const auto inner = fused.front();
  fused.erase(fused.begin());
  const auto fastest = std::min_element(fused.begin(), fused.end(),
                                        [&](const auto& p, const auto& q) { return p[from_stride] < q[from_stride]; });
  std::array<std::int64_t, 3> second{1, 0, 0};
  if (fastest != fused.end() && (*fastest)[from_stride] < inner[from_stride]) {
    second = *fastest;
    fused.erase(fastest);
  }
  constexpr std::int64_t tile = 32;
  const std::int64_t st = inner[to_stride], sf = inner[from_stride];
  const auto run = [=](std::int64_t x0, std::int64_t y0, std::int64_t n) {
    double* x = to + x0;
    const double* y = from + y0;
    if (beta != 0.0)
      for (std::int64_t i = 0; i < n; ++i) x[i * st] = y[i * sf] + beta * x[i * st];
    else if (st == 1 && sf == 1)
      for (std::int64_t i = 0; i < n; ++i) x[i] = y[i];
    else if (st == 1)
      for (std::int64_t i = 0; i < n; ++i) x[i] = y[i * sf];
    else
      for (std::int64_t i = 0; i < n; ++i) x[i * st] = y[i * sf];
  };
  each_position(fused, [&](const std::array<std::int64_t, 2>& base) {
    const std::int64_t x = base[to_stride - 1], y = base[from_stride - 1];
    if (second[0] == 1) return run(x, y, inner[0]);
    for (std::int64_t j0 = 0; j0 < second[0]; j0 += tile)
      for (std::int64_t i0 = 0; i0 < inner[0]; i0 += tile)
        for (std::int64_t j = j0; j < std::min(j0 + tile, second[0]); ++j)
          run(x + j * second[to_stride] + i0 * st, y + j * second[from_stride] + i0 * sf,
              std::min(tile, inner[0] - i0));
  });
}

CBLAS_TRANSPOSE flag(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
int small(std::int64_t n) { return static_cast<int>(n); }

}  // namespace

void blas_product(const Product& p, const double* a, const double* b, double* d, double beta) {
  const std::int64_t a_row = p.a_transposed ? p.lda : 1, a_column = p.a_transposed ? 1 : p.lda;
  const std::int64_t b_row = p.b_transposed ? p.ldb : 1, b_column = p.b_transposed ? 1 : p.ldb;
  if (p.m == 1 && p.n == 1) {
    const double sum = cblas_ddot(small(p.k), a, small(a_column), b, small(b_row));
    *d = beta == 0.0 ? sum : sum + beta * *d;
  } else if (p.k == 1) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const double factor = b[j * b_column];
      double* x = d + j * p.ldd;
      if (beta == 0.0)
        for (std::int64_t i = 0; i < p.m; ++i) x[i] = factor * a[i * a_row];
      else
        for (std::int64_t i = 0; i < p.m; ++i) x[i] = factor * a[i * a_row] + beta * x[i];
    }
  } else if (p.n == 1) {
    if (beta == 0.0) std::fill(d, d + p.m, 0.0);
    cblas_dgemv(CblasColMajor, flag(p.a_transposed), small(p.a_transposed ? p.k : p.m),
                small(p.a_transposed ? p.m : p.k), 1.0, a, small(p.lda), b, small(b_row), beta == 0.0 ? 1.0 : beta, d,
                1);
  } else if (p.m == 1) {
    if (beta == 0.0)
      for (std::int64_t j = 0; j < p.n; ++j) d[j * p.ldd] = 0.0;
    cblas_dgemv(CblasColMajor, flag(!p.b_transposed), small(p.b_transposed ? p.n : p.k),
                small(p.b_transposed ? p.k : p.n), 1.0, b, small(p.ldb), a, small(a_column), beta == 0.0 ? 1.0 : beta,
                d, small(p.ldd));
  } else {
    cblas_dgemm(CblasColMajor, flag(p.a_transposed), flag(p.b_transposed), small(p.m), small(p.n), small(p.k), 1.0, a,
                small(p.lda), b, small(p.ldb), beta, d, small(p.ldd));
  }
}

std::function<void()> plain_dgemm(const Problem& p) {
  Memory& memory = p.memory();
  double *a = memory.packed_a.data(), *b = memory.packed_b.data(), *d = memory.packed_d.data();
  std::fill(a, a + p.m * p.k, 0.5);
  std::fill(b, b + p.k * p.n, 0.5);
  std::fill(d, d + p.m * p.n, 0.5);
  const double beta = p.op().beta;
  return [=, m = small(p.m), n = small(p.n), k = small(p.k)] {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, a, m, b, k, beta, d, m);
  };
}

std::function<void()> streaming(const Problem& p) {
  const std::int64_t half = static_cast<std::int64_t>(p.bytes() / 16.0) + 1;
  const double* from = p.memory().packed_a.data();
  double* to = p.memory().packed_d.data();
  return [=] { std::memcpy(to, from, static_cast<std::size_t>(half) * sizeof(double)); };
}

Ttgt::Ttgt(const Problem& p) : problem_(p) {
  Layout best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for_each_order(p.rows, p.columns, p.summed, [&](const Layout& l) {
    const std::int64_t moved =
        (l.d.usable ? 0 : p.m * p.n) + (l.a.usable ? 0 : p.m * p.k) + (l.b.usable ? 0 : p.k * p.n);
    if (moved < least) least = moved, best = l;
  });
  const auto copy = [](bool needed, const Dims& rows, const Dims& columns, Stride s) {
    Copy c{needed, {}};
    std::int64_t dense = 1;
    for (const Dims* group : {&rows, &columns})
      for (const Dim& dim : *group) {
        c.dims.push_back({dim.extent, dim.*s, dense});
        dense *= dim.extent;
      }
    return c;
  };
  d_ = copy(!best.d.usable, best.rows, best.columns, &Dim::d);
  a_ = copy(!best.a.usable, best.rows, best.summed, &Dim::a);
  b_ = copy(!best.b.usable, best.summed, best.columns, &Dim::b);
  if (d_.needed) best.d = {true, false, p.m};
  if (a_.needed) best.a = {true, false, p.m};
  if (b_.needed) best.b = {true, false, p.k};
  swapped_ = best.d.transposed;
  product_ = product_of(best, p.m, p.n, p.k);
}

void Ttgt::product() const {
  const sial::BlockOp& op = problem_.op();
  const double* a = a_.needed ? problem_.memory().packed_a.data() : op.a.data;
  const double* b = b_.needed ? problem_.memory().packed_b.data() : op.b.data;
  double* d = d_.needed ? problem_.memory().packed_d.data() : op.d.data;
  blas_product(product_, swapped_ ? b : a, swapped_ ? a : b, d, d_.needed ? 0.0 : op.beta);
}

void Ttgt::run() const {
  const sial::BlockOp& op = problem_.op();
  if (a_.needed) permute(problem_.memory().packed_a.data(), op.a.data, a_.dims, 2, 0.0);
  if (b_.needed) permute(problem_.memory().packed_b.data(), op.b.data, b_.dims, 2, 0.0);
  product();
  if (d_.needed) permute(op.d.data, problem_.memory().packed_d.data(), d_.dims, 1, op.beta);
}

std::string Ttgt::copies() const {
  const std::string names = std::string(a_.needed ? "a" : "") + (b_.needed ? "b" : "") + (d_.needed ? "d" : "");
  return names.empty() ? "none" : names;
}

}  // namespace bench
