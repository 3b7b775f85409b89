#pragma once
// The largest density elements that a quartet of shells meets in Fock matrices: with them integrals are left out whose
// share would be nothing.

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/chemistry/integrals/fock_quartet.h"

namespace sial {

/// What a share of a Fock matrix may lack by one integral, and what an integral may be itself.
inline constexpr double share_threshold = 1e-13, integral_threshold = 1e-12;

/// Sets of functions, each one or several ranges.
using FunctionSets = std::vector<std::vector<FunctionRange>>;

class DensityScreen {
 public:
  /// `groups`: of functions, within each of the four ranges of a block. Without densities, or where one is not finite,
  /// nothing is left out for their sake.
  DensityScreen(std::span<const FockMatrix> densities, const std::array<const FunctionSets*, 4>& groups);

  /// The largest element that a quartet meets; the four numbers are those of its groups. Infinite where all counts.
  double largest(const std::array<std::size_t, 4>& group) const;
  /// That of all quartets.
  double largest() const { return on_ ? largest_ : std::numeric_limits<double>::infinity(); }

  /// Whether a quartet with this bound of its integrals, and such an element, adds nothing.
  static bool negligible(double bound, double element) {
    return bound < integral_threshold || bound * element < share_threshold;
  }

 private:
  struct Part {
    std::vector<double> largest;  // [second group][first group]
    std::size_t stride = 0;
  };
  std::array<Part, 6> parts_;  // for each two dimensions of the block
  double largest_ = 0.0;
  bool on_ = false;
};

}  // namespace sial
