// Point groups, and gradients of a model potential from the displacements that symmetry leaves: equal to the analytic
// ones, in any orientation of the molecule.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "runtime/chemistry/gradient/displacements.h"

using namespace sial;

namespace {

struct Points {
  std::string name;
  std::size_t order;     // of the group, or of the part of an infinite one
  std::size_t measured;  // derivatives that are measured
  std::vector<int> kinds;
  std::vector<Vector3> places;
};

double distance(const Vector3& a, const Vector3& b) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double strength(int a, int b) { return 1.0 + 0.3 * (a + b) + 0.1 * a * b; }

/// Pairs, strength exp(-r), and three-body terms 0.2 c_a c_b c_c exp(-(r_ab + r_bc + r_ca)/2), c = 1 + kind/5.
double energy(const Points& m, const std::vector<Vector3>& x) {
  const auto c = [&](std::size_t a) { return 1.0 + 0.2 * m.kinds[a]; };
  double sum = 0;
  for (std::size_t a = 0; a < x.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      sum += strength(m.kinds[a], m.kinds[b]) * std::exp(-distance(x[a], x[b]));
      for (std::size_t d = 0; d < b; ++d)
        sum += 0.2 * c(a) * c(b) * c(d) *
               std::exp(-0.5 * (distance(x[a], x[b]) + distance(x[b], x[d]) + distance(x[d], x[a])));
    }
  return sum;
}

std::vector<Vector3> analytic(const Points& m, const std::vector<Vector3>& x) {
  const auto c = [&](std::size_t a) { return 1.0 + 0.2 * m.kinds[a]; };
  std::vector<Vector3> g(x.size());
  const auto add = [&](std::size_t a, std::size_t b, double factor) {  // factor: derivative by the distance
    const double r = distance(x[a], x[b]);
    for (int i = 0; i < 3; ++i) {
      const double part = factor * (x[a][i] - x[b][i]) / r;
      g[a][i] += part;
      g[b][i] -= part;
    }
  };
  for (std::size_t a = 0; a < x.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      add(a, b, -strength(m.kinds[a], m.kinds[b]) * std::exp(-distance(x[a], x[b])));
      for (std::size_t d = 0; d < b; ++d) {
        const double f = -0.1 * c(a) * c(b) * c(d) *
                         std::exp(-0.5 * (distance(x[a], x[b]) + distance(x[b], x[d]) + distance(x[d], x[a])));
        add(a, b, f);
        add(b, d, f);
        add(d, a, f);
      }
    }
  return g;
}

/// Derivatives by differences of fourth order, so that these are exact to 1e-11.
std::vector<Vector3> from_plan(const Points& m, const std::vector<Vector3>& x, const DisplacementPlan& plan) {
  std::vector<double> values;
  const double h = 2e-3;
  for (const Derivative& d : plan.derivatives()) {
    const auto at = [&](double by) {
      std::vector<Vector3> moved = x;
      for (int i = 0; i < 3; ++i) moved[d.atom][i] += by * d.direction[i];
      return energy(m, moved);
    };
    values.push_back((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h));
  }
  return plan.gradient(values);
}

Vector3 rotated(const Vector3& p) {
  const double a = 0.7, b = 1.1;
  const Vector3 q{std::cos(a) * p[0] - std::sin(a) * p[1], std::sin(a) * p[0] + std::cos(a) * p[1], p[2]};
  return {std::cos(b) * q[0] - std::sin(b) * q[2] + 0.4, q[1] - 1.3, std::sin(b) * q[0] + std::cos(b) * q[2] + 2.0};
}

/// `n` points on a circle of this radius at this height, the first at `angle`.
void ring(Points& m, int kind, int n, double radius, double height, double angle = 0) {
  for (int k = 0; k < n; ++k) {
    const double phi = angle + 2 * M_PI * k / n;
    m.kinds.push_back(kind);
    m.places.push_back({radius * std::cos(phi), radius * std::sin(phi), height});
  }
}

std::vector<Points> molecules() {
  std::vector<Points> all;
  all.push_back({"atom", 8, 0, {0}, {{0, 0, 0}}});
  all.push_back({"nitrogen", 8, 1, {0, 0}, {{0, 0, 1}, {0, 0, -1}}});
  all.push_back({"carbon monoxide", 4, 1, {0, 1}, {{0, 0, 1}, {0, 0, -1}}});
  all.push_back({"hydrogen cyanide", 4, 2, {0, 1, 2}, {{0, 0, 2}, {0, 0, 0}, {0, 0, -1.7}}});
  all.push_back({"carbon dioxide", 8, 1, {1, 0, 1}, {{0, 0, 2}, {0, 0, 0}, {0, 0, -2}}});
  all.push_back({"water, C2v", 4, 2, {0, 1, 1}, {{0, 0, 0}, {0, 1.4, 1.1}, {0, -1.4, 1.1}}});
  all.push_back({"bent, Cs", 2, 3, {0, 1, 2}, {{0, 0, 0}, {0, 1.4, 1.1}, {0, -1.8, 1.3}}});
  all.push_back({"formaldehyde, C2v", 4, 3, {0, 1, 2, 2}, {{0, 0, 0}, {0, 0, 2.3}, {0, 1.8, -1.1}, {0, -1.8, -1.1}}});
  all.push_back({"peroxide, C2", 2, 4, {0, 0, 1, 1}, {{0, 1.4, 0}, {0, -1.4, 0}, {1.5, 1.7, .9}, {-1.5, -1.7, .9}}});
  Points ci{"Ci", 2, 0, {}, {}};
  for (const double s : {1.0, -1.0})
    for (int k = 0; k < 3; ++k) {
      ci.kinds.push_back(k);
      ci.places.push_back({s * (1.0 + 0.9 * k), s * (0.5 - 0.7 * k * k), s * (0.3 + 1.1 * k)});
    }
  ci.measured = 6;
  all.push_back(ci);
  Points ammonia{"ammonia, C3v", 6, 2, {0}, {{0, 0, 0.6}}};
  ring(ammonia, 1, 3, 1.8, 0);
  all.push_back(ammonia);
  Points borane{"borane, D3h", 12, 1, {0}, {{0, 0, 0}}};
  ring(borane, 1, 3, 2.2, 0, 0.3);
  all.push_back(borane);
  Points benzene{"benzene, D6h", 24, 2, {}, {}};
  ring(benzene, 0, 6, 2.6, 0, 0.1);
  ring(benzene, 1, 6, 4.7, 0, 0.1);
  all.push_back(benzene);
  Points allene{"two crossed pairs, D2d", 8, 2, {}, {}};
  ring(allene, 0, 2, 1.7, 1.5);
  ring(allene, 0, 2, 1.7, -1.5, M_PI / 2);
  all.push_back(allene);
  Points ferrocene{"two staggered rings, D5d", 20, 2, {1}, {{0, 0, 0}}};
  ring(ferrocene, 0, 5, 2.3, 3.1);
  ring(ferrocene, 0, 5, 2.3, -3.1, M_PI / 5);
  all.push_back(ferrocene);
  Points methane{"methane, Td", 24, 1, {0}, {{0, 0, 0}}};
  for (const Vector3 p : {Vector3{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}}) {
    methane.kinds.push_back(1);
    methane.places.push_back({1.2 * p[0], 1.2 * p[1], 1.2 * p[2]});
  }
  all.push_back(methane);
  Points octahedron{"octahedron, Oh", 48, 1, {0}, {{0, 0, 0}}};
  for (int axis = 0; axis < 3; ++axis)
    for (const double s : {2.5, -2.5}) {
      Vector3 p{};
      p[axis] = s;
      octahedron.kinds.push_back(1);
      octahedron.places.push_back(p);
    }
  all.push_back(octahedron);
  Points icosahedron{"icosahedron, Ih", 120, 1, {}, {}};
  const double golden = 0.5 * (1 + std::sqrt(5.0));
  for (int axis = 0; axis < 3; ++axis)
    for (const double s : {1.0, -1.0})
      for (const double t : {golden, -golden}) {
        Vector3 p{};
        p[axis] = s;
        p[(axis + 1) % 3] = t;
        icosahedron.kinds.push_back(0);
        icosahedron.places.push_back(p);
      }
  all.push_back(icosahedron);
  all.push_back({"no symmetry", 1, 6, {0, 1, 2, 3}, {{0, 0, 0}, {1.9, 0.2, 0.1}, {-0.8, 1.7, 0.4}, {-0.5, -0.9, 1.6}}});
  return all;
}

double largest_difference(const std::vector<Vector3>& a, const std::vector<Vector3>& b) {
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (int i = 0; i < 3; ++i) worst = std::max(worst, std::abs(a[k][i] - b[k][i]));
  return worst;
}

}  // namespace

TEST_CASE("gradients from fewest displacements are the whole gradient") {
  for (const Points& m : molecules())
    for (const bool is_rotated : {false, true}) {
      INFO(m.name << (is_rotated ? ", rotated" : ""));
      std::vector<Vector3> x = m.places;
      if (is_rotated) std::ranges::transform(x, x.begin(), rotated);
      const auto operations = point_operations(x, m.kinds, 1e-6);
      CHECK(operations.size() == m.order);
      const std::vector<PointOperation> identity(operations.begin(), operations.begin() + 1);
      const std::vector<Vector3> exact = analytic(m, x);
      const DisplacementPlan fewest(x, operations, true);
      CHECK(fewest.derivatives().size() <= m.measured + 1);
      if (!is_rotated) CHECK(fewest.derivatives().size() == m.measured);
      CHECK(largest_difference(from_plan(m, x, fewest), exact) < 1e-9);
      CHECK(largest_difference(from_plan(m, x, DisplacementPlan(x, operations, false)), exact) < 1e-9);
      CHECK(largest_difference(from_plan(m, x, DisplacementPlan(x, identity, true)), exact) < 1e-9);
      const DisplacementPlan all(x, identity, false);
      CHECK(all.derivatives().size() == 3 * x.size());
      CHECK(largest_difference(from_plan(m, x, all), exact) < 1e-9);
    }
}

TEST_CASE("points that are nearly symmetric are not taken for it") {
  std::vector<Vector3> x{{0, 0, 0}, {0, 1.4, 1.1}, {0, -1.4, 1.1}};
  CHECK(point_operations(x, std::vector<int>{0, 1, 1}, 1e-6).size() == 4);
  CHECK(point_operations(x, std::vector<int>{0, 1, 2}, 1e-6).size() == 2);  // another basis, say
  x[1][1] += 1e-5;
  CHECK(point_operations(x, std::vector<int>{0, 1, 1}, 1e-6).size() == 2);
}

TEST_CASE("operations are a group where points are symmetric to about the tolerance") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> noise(-1e-6, 1e-6);
  std::size_t fewer = 0;
  for (const Points& m : molecules())
    for (int round = 0; round < 20; ++round) {
      INFO(m.name << ", round " << round);
      std::vector<Vector3> x = m.places;
      std::ranges::transform(x, x.begin(), rotated);
      for (Vector3& place : x)
        for (double& c : place) c += noise(random);
      const auto operations = point_operations(x, m.kinds, 1e-6);
      CHECK(m.order % operations.size() == 0);  // a subgroup
      fewer += operations.size() > 1 && operations.size() < m.order ? 1 : 0;
      CHECK(largest_difference(from_plan(m, x, DisplacementPlan(x, operations, true)), analytic(m, x)) < 1e-4);
    }
  CHECK(fewer > 0);
}
