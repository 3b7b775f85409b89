#include "runtime/chemistry/integrals/boys_table.h"

#include <cmath>

namespace sial {
namespace {

/// exp(-T) times the sum over k of (2T)^k / ((2m+1) (2m+3) ... (2m+2k+1)): all terms are positive.
double boys_series(int m, double t) {
  double term = 1.0 / (2.0 * m + 1.0), sum = term;
  for (int k = 1; term > 1e-18 * sum; ++k) {
    term *= 2.0 * t / (2.0 * (m + k) + 1.0);
    sum += term;
  }
  return std::exp(-t) * sum;
}

}  // namespace

std::vector<double> boys_table(int m) {
  constexpr int terms = boys_row - 1;
  std::vector<double> table;
  table.reserve(static_cast<std::size_t>(boys_points) * boys_row);
  for (int i = 0; i < boys_points; ++i) {
    const double t = i * boys_grid, e = std::exp(-t);
    double f[terms];
    f[terms - 1] = boys_series(m + terms - 1, t);
    for (int k = terms - 2; k >= 0; --k) f[k] = (2.0 * t * f[k + 1] + e) / (2.0 * (m + k) + 1.0);
    double factorial = 1.0;
    for (int k = 0; k < terms; ++k) {
      table.push_back(f[k] / factorial);
      factorial *= k + 1;
    }
    table.push_back(e);
  }
  return table;
}

}  // namespace sial
