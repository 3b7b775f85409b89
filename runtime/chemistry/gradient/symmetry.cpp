#include "runtime/chemistry/gradient/symmetry.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace sial {

Vector3 operator*(const Matrix3& m, const Vector3& v) { return {dot(m[0], v), dot(m[1], v), dot(m[2], v)}; }
double dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

bool PointOperation::is_identity() const {
  return std::abs(matrix[0][0] - 1.0) + std::abs(matrix[1][1] - 1.0) + std::abs(matrix[2][2] - 1.0) < 1e-3;
}

namespace {

double length(const Vector3& v) { return std::sqrt(dot(v, v)); }
Vector3 minus(const Vector3& a, const Vector3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Vector3 scaled(const Vector3& v, double f) { return {f * v[0], f * v[1], f * v[2]}; }

double determinant(const Matrix3& m) { return dot(m[0], cross(m[1], m[2])); }

/// The transpose of the inverse.
Matrix3 inverse_transposed(const Matrix3& m) {
  const double d = 1.0 / determinant(m);
  return {scaled(cross(m[1], m[2]), d), scaled(cross(m[2], m[0]), d), scaled(cross(m[0], m[1]), d)};
}

/// The matrix that carries the rows of `from` to those of `to`: to^T (from^T)^-1.
Matrix3 carrying(const Matrix3& from, const Matrix3& to) {
  const Matrix3 dual = inverse_transposed(from);  // sum over rows of to_k dual_k^T
  Matrix3 m{};
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) m[i][j] += to[k][i] * dual[k][j];
  return m;
}

/// The nearest orthogonal matrix, by Newton's iteration for the polar decomposition (N. J. Higham, SIAM J. Sci. Stat.
/// Comput. 7, 1160 (1986)).
Matrix3 orthogonal(Matrix3 m) {
  for (int step = 0; step < 20; ++step) {
    const Matrix3 other = inverse_transposed(m);
    double change = 0.0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const double next = 0.5 * (m[i][j] + other[i][j]);
        change = std::max(change, std::abs(next - m[i][j]));
        m[i][j] = next;
      }
    if (change < 1e-15) break;
  }
  return m;
}

class Finder {
 public:
  Finder(std::span<const Vector3> points, std::span<const int> kinds, double tolerance)
      : points_(points.begin(), points.end()), kinds_(kinds), tolerance_(tolerance) {
    Vector3 centre{};
    for (const Vector3& p : points)
      for (int i = 0; i < 3; ++i) centre[i] += p[i] / static_cast<double>(points.size());
    for (Vector3& p : points_) p = minus(p, centre);
  }

  std::vector<PointOperation> find() {
    try_matrix({{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}});
    choose_frame();
    if (frame_.size() < 2) on_a_line();
    else images({});
    keep_a_group();
    return std::move(found_);
  }

 private:
  /// Of points that are symmetric to about the tolerance some operations of the group are found and others are not.
  /// Those that fit best are kept, as many as make a group.
  void keep_a_group() {
    std::ranges::stable_sort(found_, {}, &PointOperation::deviation);
    std::ranges::stable_partition(found_, [](const PointOperation& o) { return o.is_identity(); });
    while (!is_group()) found_.pop_back();
  }

  /// Whether the product of any two operations is among them.
  bool is_group() const {
    for (const PointOperation& a : found_)
      for (const PointOperation& b : found_) {
        Matrix3 product{};
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 3; ++k) product[i][j] += a.matrix[i][k] * b.matrix[k][j];
        const bool is_there = std::ranges::any_of(found_, [&](const PointOperation& c) {
          if (difference(c.matrix, product) > 1e-3) return false;
          for (std::size_t p = 0; p < points_.size(); ++p)
            if (c.image[p] != a.image[b.image[p]]) return false;
          return true;
        });
        if (!is_there) return false;
      }
    return true;
  }

  static double difference(const Matrix3& a, const Matrix3& b) {
    double most = 0.0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) most = std::max(most, std::abs(a[i][j] - b[i][j]));
    return most;
  }

  /// Two or three points whose vectors span what the points span, from the smallest sets of like points.
  void choose_frame() {
    std::vector<std::size_t> order(points_.size());
    std::map<std::size_t, std::size_t> like;
    for (std::size_t a = 0; a < points_.size(); ++a) {
      order[a] = a;
      for (std::size_t b = 0; b < points_.size(); ++b) like[a] += alike(a, b) ? 1 : 0;
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t a) { return like[a]; });
    // Vectors that nearly depend on each other make a poor frame: a bound on the angle first, then any angle.
    for (const double bound : {0.3, 0.01})
      for (const std::size_t a : order) {
        const Vector3& p = points_[a];
        const double far = length(p);
        if (far < 0.01 || frame_.size() == 3) continue;
        if (frame_.empty()) frame_.push_back(a);
        else if (frame_.size() == 1) {
          const Vector3& q = points_[frame_[0]];
          if (length(cross(p, q)) > bound * far * length(q)) frame_.push_back(a);
        } else {
          const Vector3 normal = cross(points_[frame_[0]], points_[frame_[1]]);
          if (std::abs(dot(p, normal)) > bound * far * length(normal)) frame_.push_back(a);
        }
      }
  }

  bool alike(std::size_t a, std::size_t b) const {
    return kinds_[a] == kinds_[b] && std::abs(length(points_[a]) - length(points_[b])) < 2 * tolerance_;
  }

  /// No points but one in the centre, or points on a line: reflections and rotations by 180 degrees.
  void on_a_line() {
    Vector3 axis = frame_.empty() ? Vector3{0, 0, 1} : points_[frame_[0]];
    axis = scaled(axis, 1.0 / length(axis));
    const Vector3 other = std::abs(axis[0]) < 0.6 ? Vector3{1, 0, 0} : Vector3{0, 1, 0};
    Vector3 x = cross(axis, other);
    x = scaled(x, 1.0 / length(x));
    const Matrix3 frame{x, cross(axis, x), axis};
    for (const double a : {1.0, -1.0})
      for (const double b : {1.0, -1.0})
        for (const double c : {1.0, -1.0})
          if (a + b + c < 3.0)
            try_matrix(carrying(frame, {scaled(frame[0], a), scaled(frame[1], b), scaled(frame[2], c)}));
  }

  /// Extends the images of the frame's points by one more, in all ways that keep distances.
  void images(const std::vector<std::size_t>& so_far) {
    if (so_far.size() == frame_.size()) return take(so_far);
    const std::size_t a = frame_[so_far.size()];
    for (std::size_t b = 0; b < points_.size(); ++b) {
      bool fits = alike(a, b);
      for (std::size_t k = 0; k < so_far.size() && fits; ++k)
        fits = so_far[k] != b && std::abs(length(minus(points_[b], points_[so_far[k]])) -
                                          length(minus(points_[a], points_[frame_[k]]))) < 4 * tolerance_;
      if (!fits) continue;
      std::vector<std::size_t> next = so_far;
      next.push_back(b);
      images(next);
    }
  }

  void take(const std::vector<std::size_t>& image) {
    Matrix3 from{points_[frame_[0]], points_[frame_[1]], {}}, to{points_[image[0]], points_[image[1]], {}};
    if (frame_.size() == 3) {
      from[2] = points_[frame_[2]];
      to[2] = points_[image[2]];
      return try_matrix(orthogonal(carrying(from, to)));
    }
    from[2] = cross(from[0], from[1]);
    to[2] = cross(to[0], to[1]);
    try_matrix(orthogonal(carrying(from, to)));
    to[2] = scaled(to[2], -1.0);
    try_matrix(orthogonal(carrying(from, to)));
  }

  void try_matrix(const Matrix3& matrix) {
    for (const PointOperation& known : found_)
      if (difference(known.matrix, matrix) < 1e-3) return;
    PointOperation operation{matrix, {}, 0.0};
    for (std::size_t a = 0; a < points_.size(); ++a) {
      const Vector3 goes = matrix * points_[a];
      std::optional<std::size_t> to;
      for (std::size_t b = 0; b < points_.size() && !to; ++b)
        if (kinds_[a] == kinds_[b] && length(minus(goes, points_[b])) < tolerance_) to = b;
      if (!to) return;
      operation.image.push_back(*to);
      operation.deviation = std::max(operation.deviation, length(minus(goes, points_[*to])));
    }
    found_.push_back(std::move(operation));
  }

  std::vector<Vector3> points_;
  std::span<const int> kinds_;
  double tolerance_;
  std::vector<std::size_t> frame_;
  std::vector<PointOperation> found_;
};

}  // namespace

std::vector<PointOperation> point_operations(std::span<const Vector3> points, std::span<const int> kinds,
                                             double tolerance) {
  return Finder(points, kinds, tolerance).find();
}

}  // namespace sial
