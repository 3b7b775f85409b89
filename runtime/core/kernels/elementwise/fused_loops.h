#pragma once
// The loops of fused_rows.h, for files that are compiled for one processor each: `Processor` is a type of such a file's
// own, so that what one compiles no other uses. Rows that lie contiguously have loops of their own, which the compiler
// vectorises; the target may be a source, element by element.

#include <cstdint>

#include "runtime/core/kernels/elementwise/fused_rows.h"

namespace sial::kernels {

template <class Processor>
struct FusedLoops {
  struct Row {
    double* t;
    const double *a, *b, *c;
  };

  /// f(row) for each, as long as it returns true.
  template <class F>
  static bool each(const FusedRows& r, F f) {
    const std::int64_t* offset = r.offset;
    for (std::int64_t k = 0; k < r.places; ++k, offset += r.columns) {
      const double* at[FusedTile::sources_per_step] = {nullptr, nullptr, nullptr};
      for (int q = 0; q < r.n_sources; ++q)
        at[q] = r.source[q].data + (r.source[q].column < 0 ? k * r.source[q].apart : offset[r.source[q].column]);
      double* t = r.target + offset[0];
      for (std::int64_t j = 0; j < r.count; ++j, t += r.target_across) {
        if (!f(Row{t, at[0], at[1], at[2]})) return false;
        for (int q = 0; q < r.n_sources; ++q) at[q] += r.source[q].across;
      }
    }
    return true;
  }

  template <class F>
  static bool own(const FusedRows& r, F f) {
    const std::int64_t n = r.length, st = r.target_step;
    if (st == 1)
      return each(r, [=](const Row& row) {
        for (std::int64_t i = 0; i < n; ++i) row.t[i] = f(row.t[i]);
        return true;
      });
    return each(r, [=](const Row& row) {
      for (std::int64_t i = 0; i < n; ++i) row.t[i * st] = f(row.t[i * st]);
      return true;
    });
  }

  template <class F>
  static bool one(const FusedRows& r, F f) {
    const std::int64_t n = r.length, st = r.target_step, sa = r.source[0].step;
    if (st == 1 && sa == 1)
      return each(r, [=](const Row& row) {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < n; ++i) row.t[i] = f(row.t[i], row.a[i]);
        return true;
      });
    return each(r, [=](const Row& row) {
      for (std::int64_t i = 0; i < n; ++i) row.t[i * st] = f(row.t[i * st], row.a[i * sa]);
      return true;
    });
  }

  static bool sum(const FusedRows& r) {
    const std::int64_t n = r.length, st = r.target_step, sa = r.source[0].step, sb = r.source[1].step;
    const double v = r.value;
    if (st == 1 && sa == 1 && sb == 1)
      return each(r, [=](const Row& row) {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < n; ++i) row.t[i] = row.a[i] + v * row.b[i];
        return true;
      });
    return each(r, [=](const Row& row) {
      for (std::int64_t i = 0; i < n; ++i) row.t[i * st] = row.a[i * sa] + v * row.b[i * sb];
      return true;
    });
  }

  /// t / difference(i) or t * difference(i).
  template <class Difference>
  static bool differences(double* t, std::int64_t st, std::int64_t n, bool divide, Difference difference) {
    if (!divide) {
      for (std::int64_t i = 0; i < n; ++i) t[i * st] *= difference(i);
      return true;
    }
    std::int64_t zeros = 0;
    for (std::int64_t i = 0; i < n; ++i) zeros += difference(i) == 0.0 ? 1 : 0;
    if (zeros == 0) {
      if (st == 1)
#pragma GCC ivdep
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

  static bool divided(const FusedRows& r, bool divide) {
    const std::int64_t n = r.length, st = r.target_step, sa = r.source[0].step, sb = r.source[1].step,
                       sc = r.source[2].step;
    const int n_sources = r.n_sources;
    if (sa == 1 && (n_sources < 2 || sb == 0) && (n_sources < 3 || sc == 0))
      return each(r, [=](const Row& row) {
        const double* a = row.a;
        if (n_sources == 1) return differences(row.t, st, n, divide, [=](std::int64_t i) { return a[i]; });
        const double y = *row.b;
        if (n_sources == 2) return differences(row.t, st, n, divide, [=](std::int64_t i) { return a[i] + y; });
        const double z = *row.c;
        return differences(row.t, st, n, divide, [=](std::int64_t i) { return (a[i] + y) + z; });
      });
    return each(r, [=](const Row& row) {
      return differences(row.t, st, n, divide, [=](std::int64_t i) {
        double d = row.a[i * sa];
        if (n_sources > 1) d += row.b[i * sb];
        if (n_sources > 2) d += row.c[i * sc];
        return d;
      });
    });
  }

  static bool run(FusedOp op, const FusedRows& r) {
    const double v = r.value;
    switch (op) {
      case FusedOp::fill: return own(r, [=](double) { return v; });
      case FusedOp::add_scalar: return own(r, [=](double x) { return x + v; });
      case FusedOp::scale: return own(r, [=](double x) { return x * v; });
      case FusedOp::copy: return one(r, [](double, double y) { return y; });
      case FusedOp::scaled_copy: return one(r, [=](double, double y) { return v * y; });
      case FusedOp::accumulate: return one(r, [=](double x, double y) { return v * y + x; });
      case FusedOp::sum: return sum(r);
      case FusedOp::divide: return divided(r, true);
      case FusedOp::multiply: return divided(r, false);
    }
    return true;
  }
};

}  // namespace sial::kernels
