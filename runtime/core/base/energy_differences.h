#pragma once
// What orbital energy denominators multiply or divide a block by: for the element at (p1, p2, p3, ...)
//     difference = ((shift + (e2[p2] - e1[p1])) + (e4[p4] - e3[p3])) + ...
// added up from the left, so that everyone who computes it gets the same bits. The rank is even. A value: owns its
// numbers.

#include <array>
#include <vector>

#include "runtime/core/base/shape.h"

namespace sial {

struct EnergyDifferences {
  int rank = 0;
  std::array<std::vector<double>, max_rank> energy;  // per dimension: of its orbitals
  double shift = 0.0;
  /// Whether a difference may be zero: the smallest and the largest of each dimension, added up in the same order, say
  /// no.
  bool may_vanish() const;
  bool divide = true;  // what the super instruction does with the difference; false: multiply
};

}  // namespace sial
