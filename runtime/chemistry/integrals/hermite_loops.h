#pragma once
// For the files that compile the loops of hermite_code.h; nothing else includes it. `width`: doubles of a vector.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/chemistry/integrals/boys_table.h"
#include "runtime/chemistry/integrals/hermite_code.h"

namespace sial {
namespace {

template <int width>
struct Vectors {
  typedef double type __attribute__((vector_size(width * 8)));
};

/// Lanes of the work space, in this order; the scaled Boys functions of order 0 to l follow.
struct Lanes {
  Lanes(double* work, std::int64_t n)
      : x(work), y(x + n), z(y + n), alpha(z + n), factor(alpha + n), t(factor + n), e(t + n), f(e + n) {}
  double *x, *y, *z, *alpha, *factor, *t, *e, *f;
};

/// P - Q, p q / (p + q) and 2 pi^(5/2) / (p q sqrt(p + q)) of each lane.
inline void set_lanes(const HermiteJob& job, const Lanes& w) {
  constexpr double two_pi_power = 34.986836655249725;
  std::int64_t lane = 0;
  for (std::int64_t i = 0; i < job.bra.count; ++i) {
    const double p = job.bra.p[i], px = job.bra.x[i], py = job.bra.y[i], pz = job.bra.z[i];
    const PrimitivePairs& k = job.ket;
    double *x = w.x + lane, *y = w.y + lane, *z = w.z + lane, *alpha = w.alpha + lane, *factor = w.factor + lane;
#pragma omp simd
    for (std::int64_t j = 0; j < k.count; ++j) {
      x[j] = px - k.x[j];
      y[j] = py - k.y[j];
      z[j] = pz - k.z[j];
      alpha[j] = p * k.p[j];
      factor[j] = p + k.p[j];
    }
    lane += k.count;
  }
  for (; lane < job.lanes; ++lane) {
    w.x[lane] = w.y[lane] = w.z[lane] = 0.0;
    w.alpha[lane] = w.factor[lane] = 1.0;
  }
  // Apart, for vectors are often longer than the primitives of the ket.
#pragma omp simd
  for (std::int64_t i = 0; i < job.lanes; ++i) {
    const double product = w.alpha[i], sum = w.factor[i];
    w.alpha[i] = product / sum;
    w.factor[i] = two_pi_power / (product * std::sqrt(sum));
  }
}

/// F_l(T) into f[l]; exp(-T) into e, where it counts.
inline void highest_boys(const HermiteJob& job, const Lanes& w) {
  constexpr double end = (boys_points - 1) * boys_grid;
  const std::int64_t n = job.lanes;
  const double* table = job.boys;
  double *f = w.f + job.l * n, outside = 0.0;
  constexpr std::int64_t batch = 128;
  std::int32_t rows[batch];
  for (std::int64_t begin = 0; begin < n; begin += batch) {
    const std::int64_t count = std::min(batch, n - begin);
    const double *x = w.x + begin, *y = w.y + begin, *z = w.z + begin, *alpha = w.alpha + begin;
    double *t = w.t + begin, *e = w.e + begin, *value = f + begin;
#pragma omp simd reduction(+ : outside)
    for (std::int64_t i = 0; i < count; ++i) {
      t[i] = alpha[i] * (x[i] * x[i] + y[i] * y[i] + z[i] * z[i]);
      outside += t[i] > end ? 1.0 : 0.0;
      const double inside = t[i] < end ? t[i] : end;
      const int point = static_cast<int>(inside * (1.0 / boys_grid) + 0.5);
      rows[i] = point * boys_row;
      e[i] = point * boys_grid - inside;
    }
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t row = rows[i];
      const double d = e[i];
      value[i] = table[row] +
                 d * (table[row + 1] +
                      d * (table[row + 2] +
                           d * (table[row + 3] + d * (table[row + 4] + d * (table[row + 5] + d * table[row + 6])))));
      e[i] = table[row + 7] *
             (1.0 +
              d * (1.0 + d * (1.0 / 2 +
                              d * (1.0 / 6 + d * (1.0 / 24 + d * (1.0 / 120 + d * (1.0 / 720 + d * (1.0 / 5040))))))));
    }
  }
  if (outside == 0.0) return;
  // There F_l(T) is (2l-1)!! / (2T)^l sqrt(pi/T) / 2.
  double factor = 0.88622692545275801, *inverse = job.r;
  for (int m = 1; m <= job.l; ++m) factor *= 2 * m - 1;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const double t = w.t[i], value = factor / std::sqrt(t > end ? t : end), half = 0.5 / (t > end ? t : end);
    f[i] = t > end ? value : f[i];
    w.e[i] = t > end ? 0.0 : w.e[i];
    inverse[i] = t > end ? half : 1.0;
  }
  for (int m = 1; m <= job.l; ++m) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) f[i] *= inverse[i];
  }
}

/// f[m] := factor (-2 alpha)^m F_m(T) for all m.
inline void scaled_boys(const HermiteJob& job, const Lanes& w) {
  const std::int64_t n = job.lanes;
  for (int m = job.l - 1; m >= 0; --m) {
    const double inverse = 1.0 / (2 * m + 1);
    const double* higher = w.f + (m + 1) * n;
    double* f = w.f + m * n;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) f[i] = (2.0 * w.t[i] * higher[i] + w.e[i]) * inverse;
  }
  for (int m = 0; m <= job.l; ++m) {
    double* f = w.f + m * n;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      f[i] *= w.factor[i];
      w.factor[i] *= -2.0 * w.alpha[i];
    }
  }
}

/// Each step from the highest Boys function down makes integrals of one order more, in place.
inline void raise_order(const HermiteJob& job, const Lanes& w) {
  const std::int64_t n = job.lanes;
  const double* component[] = {w.x, w.y, w.z};
  std::copy_n(w.f + job.l * n, n, job.r);
  for (int m = job.l - 1; m >= 0; --m) {
    for (std::int64_t number = n_hermites(job.l - m) - 1; number > 0; --number) {
      const HermiteStep& s = job.steps[number];
      const double *d = component[s.direction], *first = job.r + s.first * n, *second = job.r + s.second * n;
      double* r = job.r + number * n;
      if (s.factor == 0.0) {
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) r[i] = d[i] * first[i];
      } else {
        const double factor = s.factor;
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) r[i] = d[i] * first[i] + factor * second[i];
      }
    }
    std::copy_n(w.f + m * n, n, job.r);
  }
}

void hermite_integrals(const HermiteJob& job) {
  const Lanes w(job.work, job.lanes);
  set_lanes(job, w);
  highest_boys(job, w);
  scaled_boys(job, w);
  raise_order(job, w);
}

template <int width, int rows, int vectors>
void contract_tile(const ContractJob& job, std::int64_t row, std::int64_t column) {
  using Vector = typename Vectors<width>::type;
  Vector sum[rows][vectors] = {};
  const double* group[rows];
  const std::int32_t* index[rows];
  for (int i = 0; i < rows; ++i) {
    const std::int64_t g = (row + i) / job.members, member = row + i - g * job.members;
    group[i] = job.values + g * job.group_step;
    index[i] = job.index + member * job.index_stride;
  }
  std::int64_t length = job.length;
  if (job.limits)
    length = std::min(length, *std::max_element(job.limits + column / column_padding,
                                                job.limits + (column + vectors * width - 1) / column_padding + 1));
  for (std::int64_t b = 0; b < job.blocks; ++b) {
    const double *a[rows], *e = job.e + b * job.e_step + column;
    for (int i = 0; i < rows; ++i) a[i] = group[i] + index[i][b] * job.step;
    for (std::int64_t k = 0; k < length; ++k, e += job.columns) {
      Vector x[vectors];
      std::memcpy(x, e, sizeof x);  // what lies in memory is not aligned as vectors are
      for (int i = 0; i < rows; ++i)
        for (int v = 0; v < vectors; ++v) sum[i][v] += a[i][k] * x[v];
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v) {
      double* out = job.out + (row + i) * job.columns + column + v * width;
      if (job.add) {
        Vector before;
        std::memcpy(&before, out, sizeof before);
        sum[i][v] += before;
      }
      std::memcpy(out, &sum[i][v], sizeof sum[i][v]);
    }
}

template <int width, int vectors>
void contract_columns(const ContractJob& job, std::int64_t column) {
  const std::int64_t rows = job.groups * job.members;
  std::int64_t row = 0;
  // As many sums as hide the time that each takes, and have registers.
  if constexpr (vectors == 1 || (vectors <= 3 && width == 8))
    for (; row + 8 <= rows; row += 8) contract_tile<width, 8, vectors>(job, row, column);
  for (; row + 4 <= rows; row += 4) contract_tile<width, 4, vectors>(job, row, column);
  switch (rows - row) {
    case 3: return contract_tile<width, 3, vectors>(job, row, column);
    case 2: return contract_tile<width, 2, vectors>(job, row, column);
    case 1: return contract_tile<width, 1, vectors>(job, row, column);
    default: return;
  }
}

/// Columns from `first` on, as far as vectors fill them. `most`: vectors that four rows of sums leave registers for.
template <int width, int most>
void contract_vectors(const ContractJob& job, std::int64_t first) {
  const std::int64_t all = (job.columns - first) / width, parts = (all + most - 1) / most;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = all * part / parts, count = all * (part + 1) / parts - begin,
                       column = first + begin * width;
    if constexpr (most >= 3)
      if (count == 3) contract_columns<width, 3>(job, column);
    if (count == 2) contract_columns<width, 2>(job, column);
    if (count == 1) contract_columns<width, 1>(job, column);
  }
}

template <int width, int most>
void hermite_contract(const ContractJob& job) {
  contract_vectors<width, most>(job, 0);
  if constexpr (width > column_padding)
    contract_vectors<static_cast<int>(column_padding), 1>(job, job.columns / width * width);
}

}  // namespace
}  // namespace sial
