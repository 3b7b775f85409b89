#pragma once
// The symmetry of a set of labelled points: orthogonal matrices that carry it into itself. Values only; no state.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace sial {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<Vector3, 3>;  // rows

Vector3 operator*(const Matrix3& m, const Vector3& v);
double dot(const Vector3& a, const Vector3& b);
Vector3 cross(const Vector3& a, const Vector3& b);

/// An operation about the points' centroid: `image[a]` is where point a goes.
struct PointOperation {
  Matrix3 matrix;
  std::vector<std::size_t> image;
  double deviation = 0.0;  // of a point from where it should be, the largest
  bool is_identity() const;
};

/// A group of operations that carry points of a kind to points of the same kind, each to within `tolerance` (same unit
/// as the points), and those that fit best where not all do; the identity is the first. Of the infinite groups of
/// points on a line, and of one point, the part that matters for vectors: D2h or C2v about the line, D2h of a point.
/// `kinds` has a number per point.
std::vector<PointOperation> point_operations(std::span<const Vector3> points, std::span<const int> kinds,
                                             double tolerance);

}  // namespace sial
