#include "runtime/chemistry/integrals/density_screen.h"

#include <algorithm>
#include <cmath>

namespace sial {
namespace {

constexpr std::array<std::array<int, 2>, 6> pairs_of_dimensions = {{{0, 1}, {2, 3}, {0, 2}, {0, 3}, {1, 2}, {1, 3}}};

/// The largest |d[i,j]| or |d[j,i]|, summed over densities; NaN where one is not finite.
double largest_element(std::span<const FockMatrix> densities, const std::vector<FunctionRange>& of_a,
                       const std::vector<FunctionRange>& of_b) {
  double total = 0.0;
  for (const FockMatrix& d : densities) {
    double largest = 0.0, sum = 0.0;
    for (const FunctionRange& b : of_b)
      for (const FunctionRange& a : of_a)
        for (std::int64_t j = b.first; j < b.first + b.count; ++j)
          for (std::int64_t i = a.first; i < a.first + a.count; ++i) {
            const double x = std::abs(d.at(j)[i]), y = std::abs(d.at(i)[j]);
            largest = std::max({largest, x, y});
            sum += x + y;  // max would lose a NaN
          }
    total += std::isfinite(sum) ? largest : sum;
  }
  return total;
}

}  // namespace

DensityScreen::DensityScreen(std::span<const FockMatrix> densities, const std::array<const FunctionSets*, 4>& groups) {
  if (densities.empty()) return;
  on_ = true;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const FunctionSets &first = *groups[static_cast<std::size_t>(pairs_of_dimensions[k][0])],
                       &second = *groups[static_cast<std::size_t>(pairs_of_dimensions[k][1])];
    parts_[k].stride = first.size();
    for (const auto& b : second)
      for (const auto& a : first) {
        const double x = largest_element(densities, a, b);
        if (!std::isfinite(x)) on_ = false;
        parts_[k].largest.push_back(x);
        largest_ = std::max(largest_, x);
      }
  }
}

double DensityScreen::largest(const std::array<std::size_t, 4>& group) const {
  if (!on_) return largest();
  double x = 0.0;
  for (std::size_t k = 0; k < parts_.size(); ++k)
    x = std::max(x, parts_[k].largest[group[static_cast<std::size_t>(pairs_of_dimensions[k][1])] * parts_[k].stride +
                                      group[static_cast<std::size_t>(pairs_of_dimensions[k][0])]]);
  return x;
}

}  // namespace sial
