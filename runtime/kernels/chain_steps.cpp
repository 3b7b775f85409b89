// The built-in loops of single steps on a tile. Rows that lie contiguously have loops of their own, which the compiler vectorises; the
// target may be a source, element by element.

#include "runtime/kernels/chain_tile.h"

namespace sial::kernels {
namespace {

template <class F>
void own(double* t, std::int64_t st, std::int64_t n, F f) {
  if (st == 1)
    for (std::int64_t i = 0; i < n; ++i) t[i] = f(t[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) t[i * st] = f(t[i * st]);
}

template <class F>
void one(double* t, std::int64_t st, const double* a, std::int64_t sa, std::int64_t n, F f) {
  if (st == 1 && sa == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) t[i] = f(t[i], a[i]);
  } else if (st == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) t[i] = f(t[i], a[i * sa]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) t[i * st] = f(t[i * st], a[i * sa]);
  }
}

void sum_row(double* t, std::int64_t st, const double* a, std::int64_t sa, const double* b, std::int64_t sb, double value, std::int64_t n) {
  if (st == 1 && sa == 1 && sb == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) t[i] = a[i] + value * b[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) t[i * st] = a[i * sa] + value * b[i * sb];
  }
}

/// t / difference(i) or t * difference(i). False: division by zero.
template <class Difference>
bool differences(double* t, std::int64_t st, std::int64_t n, bool divide, Difference difference) {
  if (!divide) {
    for (std::int64_t i = 0; i < n; ++i) t[i * st] *= difference(i);
    return true;
  }
  std::int64_t zeros = 0;
  for (std::int64_t i = 0; i < n; ++i) zeros += difference(i) == 0.0 ? 1 : 0;
  if (zeros == 0) {
    if (st == 1)
      for (std::int64_t i = 0; i < n; ++i) t[i] /= difference(i);
    else
      for (std::int64_t i = 0; i < n; ++i) t[i * st] /= difference(i);
    return true;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double d = difference(i);
    double& x = t[i * st];
    if (d != 0.0) x /= d;
    else if (x != 0.0) return false;
  }
  return true;
}

bool differences_row(double* t, std::int64_t st, std::int64_t n, bool divide, const ChainTile::Source* s, const double* const* at, int n_sources) {
  const double *a = at[0], *b = at[1], *c = at[2];
  if (s[0].stride[0] == 1 && (n_sources < 2 || s[1].stride[0] == 0) && (n_sources < 3 || s[2].stride[0] == 0)) {
    if (n_sources == 1) return differences(t, st, n, divide, [=](std::int64_t i) { return a[i]; });
    const double y = *b;
    if (n_sources == 2) return differences(t, st, n, divide, [=](std::int64_t i) { return a[i] + y; });
    const double z = *c;
    return differences(t, st, n, divide, [=](std::int64_t i) { return (a[i] + y) + z; });
  }
  const std::int64_t sa = s[0].stride[0], sb = s[1].stride[0], sc = s[2].stride[0];
  return differences(t, st, n, divide, [=](std::int64_t i) {
    double d = a[i * sa];
    if (n_sources > 1) d += b[i * sb];
    if (n_sources > 2) d += c[i * sc];
    return d;
  });
}

bool row(ChainOp op, double v, double* t, std::int64_t st, std::int64_t n, const ChainTile::Source* s, const double* const* at, int n_sources) {
  switch (op) {
    case ChainOp::fill: own(t, st, n, [=](double) { return v; }); break;
    case ChainOp::add_scalar: own(t, st, n, [=](double x) { return x + v; }); break;
    case ChainOp::scale: own(t, st, n, [=](double x) { return x * v; }); break;
    case ChainOp::copy: one(t, st, at[0], s[0].stride[0], n, [](double, double y) { return y; }); break;
    case ChainOp::scaled_copy: one(t, st, at[0], s[0].stride[0], n, [=](double, double y) { return v * y; }); break;
    case ChainOp::accumulate: one(t, st, at[0], s[0].stride[0], n, [=](double x, double y) { return v * y + x; }); break;
    case ChainOp::sum: sum_row(t, st, at[0], s[0].stride[0], at[1], s[1].stride[0], v, n); break;
    case ChainOp::divide:
    case ChainOp::multiply: return differences_row(t, st, n, op == ChainOp::divide, s, at, n_sources);
  }
  return true;
}

}  // namespace

bool run_chain_step(const ChainTile& tile, ChainOp op, const ChainStepPlace& where) {
  const auto number = static_cast<std::size_t>(where.number);
  const ChainTile::Source* s = &tile.source[number * ChainTile::sources_per_step];
  const std::int64_t* offset = tile.offset;
  for (std::int64_t k = 0; k < tile.places; ++k, offset += where.row)
    for (std::int64_t j = 0; j < tile.extent[1]; ++j) {
      const double* at[ChainTile::sources_per_step] = {nullptr, nullptr, nullptr};
      for (int q = 0; q < where.n_sources; ++q) at[q] = s[q].data + j * s[q].stride[1] + offset[where.column[static_cast<std::size_t>(q)]];
      if (!row(op, tile.value[number], tile.target + j * tile.target_stride[1] + offset[0], tile.target_stride[0], tile.extent[0], s, at, where.n_sources)) return false;
    }
  return true;
}

}  // namespace sial::kernels
