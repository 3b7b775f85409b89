#include "runtime/core/kernels/permute/strided.h"

#include <algorithm>
#include <array>

#include "runtime/core/base/check.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {
namespace {

// A square of 32 x 32 doubles is 8 KiB on either side: both fit a first-level cache together.
constexpr std::int64_t square = 32;

/// Calls run(x offset, y offset, length, x stride, y stride) so that the runs cover every position of fused dimensions
/// once.
template <class Run>
void traverse(const std::vector<PairDim>& fused, Run&& run) {
  const PairDim inner = fused.empty() ? PairDim{1, 1, 1} : fused.front();
  if (fused.size() <= 1) return run(std::int64_t{0}, std::int64_t{0}, inner.extent, inner.x, inner.y);
  SIAL_CHECK(fused.size() <= 2 * max_rank, "{} dimensions", fused.size());
  const auto fastest_y =
      std::min_element(fused.begin() + 1, fused.end(), [](const PairDim& p, const PairDim& q) { return p.y < q.y; });
  const bool tiled = fastest_y != fused.end() && fastest_y->y < inner.y;
  const PairDim second = tiled ? *fastest_y : PairDim{};
  std::array<PairDim, 2 * max_rank> outer{};
  std::size_t loops = 0;
  for (auto dim = fused.begin() + 1; dim != fused.end(); ++dim)
    if (!tiled || dim != fastest_y) outer[loops++] = *dim;
  std::array<std::int64_t, 2 * max_rank> at{};
  std::int64_t x = 0, y = 0;
  for (;;) {
    if (!tiled) {
      run(x, y, inner.extent, inner.x, inner.y);
    } else {
      for (std::int64_t j0 = 0; j0 < second.extent; j0 += square)
        for (std::int64_t i0 = 0; i0 < inner.extent; i0 += square) {
          const std::int64_t n = std::min(square, inner.extent - i0), j1 = std::min(j0 + square, second.extent);
          for (std::int64_t j = j0; j < j1; ++j)
            run(x + i0 * inner.x + j * second.x, y + i0 * inner.y + j * second.y, n, inner.x, inner.y);
        }
    }
    std::size_t k = 0;
    for (; k < loops; ++k) {
      x += outer[k].x, y += outer[k].y;
      if (++at[k] < outer[k].extent) break;
      x -= outer[k].x * outer[k].extent, y -= outer[k].y * outer[k].extent;
      at[k] = 0;
    }
    if (k == loops) return;
  }
}

/// Runs `f(x element, y element)` over every position, with separate inner loops for contiguous operands: the compiler
/// vectorises those.
template <class F>
void apply(double* x, const double* y, const std::vector<PairDim>& fused, F f) {
  traverse(fused, [=](std::int64_t ox, std::int64_t oy, std::int64_t n, std::int64_t sx, std::int64_t sy) {
    double* px = x + ox;
    const double* py = y + oy;
    if (sx == 1 && sy == 1)
      for (std::int64_t i = 0; i < n; ++i) f(px[i], py[i]);
    else if (sx == 1)
      for (std::int64_t i = 0; i < n; ++i) f(px[i], py[i * sy]);
    else
      for (std::int64_t i = 0; i < n; ++i) f(px[i * sx], py[i * sy]);
  });
}

}  // namespace

bool fuse(std::vector<PairDim>& dims) {
  for (const PairDim& dim : dims)
    if (dim.extent == 0) return false;
  std::erase_if(dims, [](const PairDim& dim) { return dim.extent == 1; });
  std::sort(dims.begin(), dims.end(), [](const PairDim& p, const PairDim& q) { return p.x < q.x; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < dims.size(); ++i) {
    PairDim& last = dims[kept];
    if (dims[i].x == last.x * last.extent && dims[i].y == last.y * last.extent) last.extent *= dims[i].extent;
    else dims[++kept] = dims[i];
  }
  if (!dims.empty()) dims.resize(kept + 1);
  return true;
}

void combine(double* x, const double* y, std::vector<PairDim> dims, double alpha, double beta) {
  if (!fuse(dims)) return;
  if (beta == 0.0 && alpha == 1.0) apply(x, y, dims, [](double& to, double from) { to = from; });
  else if (beta == 0.0) apply(x, y, dims, [=](double& to, double from) { to = alpha * from; });
  else if (beta == 1.0) apply(x, y, dims, [=](double& to, double from) { to = alpha * from + to; });
  else apply(x, y, dims, [=](double& to, double from) { to = alpha * from + beta * to; });
}

double inner_product(const double* x, const double* y, const std::vector<PairDim>& fused) {
  static const InnerCode dense = builtin_inner(processor_facts());
  double sum = 0.0;
  traverse(fused, [&](std::int64_t ox, std::int64_t oy, std::int64_t n, std::int64_t sx, std::int64_t sy) {
    const double* px = x + ox;
    const double* py = y + oy;
    if (n == 1) {
      sum += *px * *py;
      return;
    }
    if (sx == 1 && sy == 1) {
      sum += dense(px, py, n);
      return;
    }
    // Four partial sums: the additions of one chain would otherwise wait for each other.
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      s0 += px[i * sx] * py[i * sy];
      s1 += px[(i + 1) * sx] * py[(i + 1) * sy];
      s2 += px[(i + 2) * sx] * py[(i + 2) * sy];
      s3 += px[(i + 3) * sx] * py[(i + 3) * sy];
    }
    for (; i < n; ++i) s0 += px[i * sx] * py[i * sy];
    sum += (s0 + s1) + (s2 + s3);
  });
  return sum;
}

}  // namespace sial::kernels
