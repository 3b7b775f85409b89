#pragma once
// The largest density elements that a quartet of shells meets in Fock matrices: with them integrals are left out whose share would be nothing.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/super/fock_quartet.h"

namespace sial {

/// What a share of a Fock matrix may lack by one integral, and what an integral may be itself.
inline constexpr double share_threshold = 1e-13, integral_threshold = 1e-12;

/// Sets of functions, each one or several ranges.
using FunctionSets = std::vector<std::vector<FunctionRange>>;

class DensityScreen {
 public:
  /// `groups`: of functions, within each of the four ranges of a block. Without densities, or where one is not finite, nothing is left out for their sake.
  DensityScreen(std::span<const FockMatrix> densities, const std::array<const FunctionSets*, 4>& groups);

  /// Whether a quartet with this bound of its integrals adds nothing; the four numbers are those of its groups.
  bool negligible(double bound, const std::array<std::size_t, 4>& group) const { return bound < integral_threshold || (on_ && bound * largest(group) < share_threshold); }
  /// As above, whatever the groups.
  bool negligible(double bound) const { return bound < integral_threshold || (on_ && bound * largest_ < share_threshold); }

 private:
  double largest(const std::array<std::size_t, 4>& group) const;

  struct Part {
    std::vector<double> largest;  // [second group][first group]
    std::size_t stride = 0;
  };
  std::array<Part, 6> parts_;  // for each two dimensions of the block
  double largest_ = 0.0;
  bool on_ = false;
};

}  // namespace sial
