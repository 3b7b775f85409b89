#include "runtime/core/base/energy_differences.h"

#include <algorithm>

namespace sial {

bool EnergyDifferences::may_vanish() const {
  double least = shift, most = shift;
  for (int d = 0; d < rank; d += 2) {
    if (energy[d].empty() || energy[d + 1].empty()) return false;  // there is no element
    const auto [low1, high1] = std::minmax_element(energy[d].begin(), energy[d].end());
    const auto [low2, high2] = std::minmax_element(energy[d + 1].begin(), energy[d + 1].end());
    least += *low2 - *high1;
    most += *high2 - *low1;
  }
  // Rounding is monotonic: no sum made in this order lies outside.
  return !(least > 0.0 || most < 0.0);
}

}  // namespace sial
