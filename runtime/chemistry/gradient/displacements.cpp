#include "runtime/chemistry/gradient/displacements.h"

#include <cmath>

namespace sial {
namespace {

/// Directions that the average of these matrices leaves alone: they are all, together, a projector.
std::vector<Vector3> kept_directions(const Matrix3& projector) {
  std::vector<Vector3> kept;
  const int dimension = static_cast<int>(std::lround(projector[0][0] + projector[1][1] + projector[2][2]));
  while (static_cast<int>(kept.size()) < dimension) {
    Vector3 best{};
    for (int axis = 0; axis < 3; ++axis) {
      Vector3 v{projector[0][axis], projector[1][axis], projector[2][axis]};
      for (const Vector3& k : kept) {
        const double part = dot(v, k);
        for (int i = 0; i < 3; ++i) v[i] -= part * k[i];
      }
      if (dot(v, v) > dot(best, best) + 1e-6) best = v;
    }
    const double norm = std::sqrt(dot(best, best));
    for (double& x : best) x /= norm;
    kept.push_back(best);
  }
  return kept;
}

}  // namespace

DisplacementPlan::DisplacementPlan(std::span<const Vector3> points, std::span<const PointOperation> operations,
                                   bool rigid)
    : n_points_(points.size()) {
  add_orbits(operations);
  if (rigid) leave_out(points);
}

void DisplacementPlan::add_orbits(std::span<const PointOperation> operations) {
  std::vector<bool> done(n_points_, false);
  for (std::size_t atom = 0; atom < n_points_; ++atom) {
    if (done[atom]) continue;
    Matrix3 projector{};
    double stay = 0.0;
    for (const PointOperation& o : operations) {
      done[o.image[atom]] = true;
      if (o.image[atom] != atom) continue;
      stay += 1.0;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) projector[i][j] += o.matrix[i][j];
    }
    for (Vector3& row : projector)
      for (double& x : row) x /= stay;
    for (const Vector3& direction : kept_directions(projector)) {
      std::vector<Vector3> field(n_points_);
      for (const PointOperation& o : operations) field[o.image[atom]] = o.matrix * direction;
      measured_.push_back({atom, direction});
      fields_.push_back(std::move(field));
    }
  }
}

/// Elimination with the largest pivot of all: sum of g = 0, sum of r x g = 0.
void DisplacementPlan::leave_out(std::span<const Vector3> points) {
  constexpr double max_error = 6.0;  // by which errors of the others may be multiplied, all together
  Vector3 centre{};
  double reach = 1e-9;
  for (const Vector3& p : points)
    for (int i = 0; i < 3; ++i) centre[i] += p[i] / static_cast<double>(points.size());
  const std::size_t n = measured_.size();
  std::vector<std::vector<double>> rows(6, std::vector<double>(n, 0.0));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t a = 0; a < n_points_; ++a) {
      Vector3 r = points[a];
      for (int i = 0; i < 3; ++i) r[i] -= centre[i];
      reach = std::max(reach, std::sqrt(dot(r, r)));
      const Vector3 torque = cross(r, fields_[k][a]);
      for (int i = 0; i < 3; ++i) rows[i][k] += fields_[k][a][i], rows[3 + i][k] += torque[i];
    }
  for (int i = 3; i < 6; ++i)
    for (double& x : rows[i]) x /= reach;
  std::vector<std::size_t> pivot_of;  // of the first rows, eliminated
  std::vector<bool> left_out(n, false);
  for (std::size_t done = 0; done < 6; ++done) {
    std::size_t row = done, column = 0;
    double largest = 0.0;
    for (std::size_t r = done; r < 6; ++r)
      for (std::size_t k = 0; k < n; ++k)
        if (!left_out[k] && std::abs(rows[r][k]) > largest * (1 + 1e-9)) largest = std::abs(rows[row = r][column = k]);
    if (largest < 0.05) break;
    std::swap(rows[done], rows[row]);
    std::vector<std::vector<double>> next = rows;
    for (double& x : next[done]) x /= rows[done][column];
    for (std::size_t r = 0; r < 6; ++r) {
      if (r == done) continue;
      const double factor = next[r][column];
      for (std::size_t k = 0; k < n; ++k) next[r][k] -= factor * next[done][k];
    }
    left_out[column] = true;
    double error = 0.0;
    for (std::size_t r = 0; r <= done; ++r) {
      double sum = 0.0;
      for (std::size_t k = 0; k < n; ++k)
        if (!left_out[k]) sum += std::abs(next[r][k]);
      error = std::max(error, sum);
    }
    if (error > max_error) {
      left_out[column] = false;
      break;
    }
    rows = std::move(next);
    pivot_of.push_back(column);
  }
  // x[pivot] = - sum of rows[r][k] x[k]: each measured derivative carries the ones that follow from it.
  std::vector<Derivative> measured;
  std::vector<std::vector<Vector3>> fields;
  for (std::size_t k = 0; k < n; ++k) {
    if (left_out[k]) continue;
    std::vector<Vector3> field = fields_[k];
    for (std::size_t r = 0; r < pivot_of.size(); ++r)
      for (std::size_t a = 0; a < n_points_; ++a)
        for (int i = 0; i < 3; ++i) field[a][i] -= rows[r][k] * fields_[pivot_of[r]][a][i];
    measured.push_back(measured_[k]);
    fields.push_back(std::move(field));
  }
  measured_ = std::move(measured);
  fields_ = std::move(fields);
}

std::vector<Vector3> DisplacementPlan::gradient(std::span<const double> values) const {
  std::vector<Vector3> g(n_points_);
  for (std::size_t k = 0; k < fields_.size(); ++k)
    for (std::size_t a = 0; a < n_points_; ++a)
      for (int i = 0; i < 3; ++i) g[a][i] += values[k] * fields_[k][a][i];
  return g;
}

}  // namespace sial
