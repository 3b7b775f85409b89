#pragma once
// Which displacements of single atoms give the whole gradient of a function of their positions. With the operations of
// the molecule's point group an atom stands for those that it can be carried to, and has a derivative only along
// directions that all operations leave alone which leave the atom where it is. Of what is left some follow from the
// others: the function does not change when the molecule is moved or rotated as a whole.

#include <span>
#include <string>
#include <vector>

#include "runtime/chemistry/gradient/symmetry.h"

namespace sial {

/// A derivative that is to be found: that along `direction` (a unit vector) of the place of `atom` (from 0).
struct Derivative {
  std::size_t atom = 0;
  Vector3 direction{};
};

class DisplacementPlan {
 public:
  /// `operations`: at least the identity. `rigid`: the function is the same for the molecule moved or rotated as a
  /// whole. Directions that would follow from many others are not left out: errors add up.
  DisplacementPlan(std::span<const Vector3> points, std::span<const PointOperation> operations, bool rigid);

  /// Those to be measured.
  std::span<const Derivative> derivatives() const { return measured_; }
  /// The gradient, a vector per point, from a number for each of derivatives().
  std::vector<Vector3> gradient(std::span<const double> values) const;

 private:
  void add_orbits(std::span<const PointOperation> operations);
  void leave_out(std::span<const Vector3> points);

  std::size_t n_points_;
  std::vector<Derivative> measured_;
  std::vector<std::vector<Vector3>> fields_;  // the gradient for a derivative of 1 and others of 0
};

}  // namespace sial
