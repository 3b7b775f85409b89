// DIIS coefficients: closed forms, and what must hold for any matrix, however singular.

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "runtime/core/super/diis.h"
#include "tests/unit/chemistry/super/context.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

Values coefficients(std::vector<Values> rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  Array b({n, n});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) b.data[i + j * n] = rows[i][j];
  FakeContext c;
  execute(c, "compute_diis", {b});
  Values result(n);
  for (std::int64_t i = 0; i < n; ++i) result[i] = b.data[i * (n + 1)];
  return result;
}

struct Gram {
  std::int64_t n = 0;
  Values products;
  double at(std::int64_t i, std::int64_t j) const { return products[i + j * n]; }
};

Gram gram(const std::vector<Values>& errors) {
  Gram g{std::ssize(errors), {}};
  g.products.resize(g.n * g.n);
  for (std::int64_t i = 0; i < g.n; ++i)
    for (std::int64_t j = 0; j < g.n; ++j) g.products[i + j * g.n] = trace_product(errors[i], errors[j]);
  return g;
}

double total(const Values& c) {
  double sum = 0.0;
  for (double x : c) sum += x;
  return sum;
}

double largest(const Values& c) {
  double most = 0.0;
  for (double x : c) most = std::max(most, std::abs(x));
  return most;
}

/// What holds for products of any vectors; `noise` is the rounding of the products relative to the norms.
void check_properties(const Gram& g, double noise) {
  const Values c = diis_coefficients(g.n, g.products.data());
  REQUIRE(std::ssize(c) == g.n);
  REQUIRE(std::all_of(c.begin(), c.end(), [](double x) { return std::isfinite(x); }));
  CHECK(std::abs(total(c) - 1.0) < 1e-9);
  CHECK(largest(c) < 2e5);
  CHECK(c == diis_coefficients(g.n, g.products.data()));
  double shortest = HUGE_VAL, residual = 0.0, scale = 0.0, parts = 0.0;
  for (std::int64_t i = 0; i < g.n; ++i) {
    parts += std::abs(c[i]) * std::sqrt(std::max(g.at(i, i), 0.0));
    if (g.at(i, i) > 0.0) shortest = std::min(shortest, g.at(i, i));
    for (std::int64_t j = 0; j < g.n; ++j) {
      residual += c[i] * c[j] * g.at(i, j);
      scale += std::abs(c[i] * c[j]) * std::sqrt(g.at(i, i) * g.at(j, j));
    }
  }
  if (std::isfinite(shortest)) CHECK(parts <= 20.01 * std::sqrt(shortest) + 1e-150);
  if (std::isfinite(shortest)) CHECK(residual <= shortest * (1.0 + 1e-6) + scale * (noise + 1e-14));
}

}  // namespace

TEST_CASE("DIIS coefficients of matrices with one solution") {
  // B = [[1, 0], [0, 4]]: c is proportional to the inverse diagonal and sums to 1; places not yet filled get 0.
  const Values padded = coefficients({{1, 0, 0, 0}, {0, 4, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  CHECK(padded[0] == Approx(0.8).epsilon(1e-14));
  CHECK(padded[1] == Approx(0.2).epsilon(1e-14));
  CHECK(padded[2] == 0);
  CHECK(padded[3] == 0);
  // Off-diagonal, upper triangle only: B = [[2, 1], [1, 3]] gives c = (2/3, 1/3).
  const Values upper = coefficients({{2, 1}, {-50, 3}});
  CHECK(upper[0] == Approx(2 / 3.0).epsilon(1e-14));
  CHECK(upper[1] == Approx(1 / 3.0).epsilon(1e-14));
  // Orthogonal vectors of very different length: weights go with the inverse squares of the lengths.
  const Values steep = coefficients({{1, 0, 0}, {0, 1e-12, 0}, {0, 0, 2e-20}});
  CHECK(std::abs(steep[0] - 2e-20) < 1e-27);
  CHECK(std::abs(steep[1] - 2e-8) < 1e-14);
  CHECK(std::abs(steep[2] - 1) < 1e-7);
}

TEST_CASE("DIIS coefficients against the equations solved by elimination") {
  // B c = lambda, sum c = 1, by Gauss-Jordan elimination in long double, of well-conditioned random matrices.
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int n = 1; n <= 8; ++n)
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<Values> errors(n, Values(30));
      for (Values& e : errors) {
        const double length = std::pow(10.0, -0.5 * static_cast<double>(random() % 5));
        for (double& x : e) x = length * normal(random);
      }
      const Gram g = gram(errors);
      std::vector<std::vector<long double>> a(n, std::vector<long double>(n + 1, 1.0L));
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a[i][j] = g.at(i, j);
      for (int k = 0; k < n; ++k) {
        const long double pivot = a[k][k];
        for (auto& x : a[k]) x /= pivot;
        for (int i = 0; i < n; ++i) {
          const long double factor = i == k ? 0.0L : a[i][k];
          for (int j = 0; j <= n; ++j) a[i][j] -= factor * a[k][j];
        }
      }
      long double sum = 0.0L;
      for (int i = 0; i < n; ++i) sum += a[i][n];
      const Values c = diis_coefficients(n, g.products.data());
      for (int i = 0; i < n; ++i) CHECK(std::abs(c[i] - static_cast<double>(a[i][n] / sum)) < 1e-11);
    }
}

TEST_CASE("DIIS coefficients of singular equations") {
  // The same error vector twice: one is as good as the other.
  const Values twice = coefficients({{1, 1}, {1, 1}});
  CHECK(twice[0] == Approx(0.5));
  CHECK(twice[1] == Approx(0.5));
  // Three vectors on a line, of lengths 1, -1/2 and 1/8: the solution has no error left.
  const Values line = coefficients({{1, -0.5, 0.125}, {-0.5, 0.25, -0.0625}, {0.125, -0.0625, 0.015625}});
  CHECK(std::abs(total(line) - 1) < 1e-12);
  CHECK(std::abs(line[0] - 0.5 * line[1] + 0.125 * line[2]) < 1e-9);
  // A vector without error is the solution, the newest such where there are several; also beside vectors whose products
  // underflow.
  CHECK(coefficients({{1, 0, 0.5}, {0, 0, 0}, {0.5, 0, 2}}) == Values{0, 1, 0});
  CHECK(coefficients({{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 2}}) == Values{0, 0, 1, 0});
  CHECK(coefficients({{4, 1e-170}, {1e-170, 0}}) == Values{0, 1});
  CHECK(coefficients({{0, 0}, {0, 0}}) == Values{1, 0});  // converged before the first call
  CHECK(coefficients({{0}}) == Values{1});
  // What is no squared norm does not count; without any norm the smallest is taken, the newest of equals.
  CHECK(coefficients({{1, 0}, {0, -1}}) == Values{1, 0});
  CHECK(coefficients({{0, 1}, {1, 2}}) == Values{0, 1});
  CHECK(coefficients({{-2, 1, 0}, {1, -1, 0}, {0, 0, -1}}) == Values{0, 0, 1});
  // Not finite remains an error.
  for (double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    FakeContext c;
    Array b({2, 2}, {1, 0, bad, 1});
    CHECK_THAT(execution_error(c, "compute_diis", {b}), Contains("not a number"));
  }
}

TEST_CASE("DIIS coefficients of random singular and noisy matrices") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (int repeat = 0; repeat < 4000; ++repeat) {
    INFO("repeat " << repeat);
    const int n = 1 + static_cast<int>(random() % 10), dimension = 1 + static_cast<int>(random() % 6);
    const double spread = std::array{0.0, 3.0, 14.0, 100.0}[random() % 4];
    std::vector<Values> errors(n, Values(dimension));
    for (int i = 0; i < n; ++i) {
      const double length = std::pow(10.0, -spread * uniform(random));
      const auto kind = random() % 8;
      for (double& x : errors[i]) x = length * normal(random);
      if (kind == 0) std::fill(errors[i].begin(), errors[i].end(), 0.0);
      // A step that changed next to nothing.
      if (kind == 1 && i > 0)
        for (int k = 0; k < dimension; ++k) errors[i][k] = errors[i - 1][k] * (1.0 + 1e-13 * normal(random));
    }
    Gram g = gram(errors);
    check_properties(g, 0.0);
    // Products known to less than working precision: no longer positive definite.
    const double noise = std::array{1e-16, 1e-12, 1e-6}[random() % 3];
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j)
        g.products[i + j * n] = g.products[j + i * n] =
            g.at(i, j) + noise * normal(random) * std::sqrt(g.at(i, i) * g.at(j, j));
    check_properties(g, 10.0 * n * noise);
  }
}

TEST_CASE("DIIS coefficients of matrices that are no products at all") {
  std::mt19937_64 random(13);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 4000; ++repeat) {
    INFO("repeat " << repeat);
    const auto n = static_cast<std::int64_t>(1 + random() % 10);
    Values b(n * n);
    for (double& x : b) x = normal(random) * std::pow(10.0, static_cast<double>(random() % 635) - 330.0);
    const Values c = diis_coefficients(n, b.data());
    REQUIRE(std::all_of(c.begin(), c.end(), [](double x) { return std::isfinite(x); }));
    CHECK(std::abs(total(c) - 1.0) < 1e-9);
    CHECK(largest(c) < 2e5);
  }
}

TEST_CASE("rounding in singular DIIS equations stays rounding") {
  // Error vectors that differ less and less, and more vectors than clearly different ones: coefficients are not unique,
  // but what they combine to may not depend on the last bits of the products. A solver that decides at some rank
  // between two solutions makes 4e-8 of them.
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  double worst = 0.0;
  for (int repeat = 0; repeat < 500; ++repeat) {
    const int n = 8, dimension = repeat % 2 == 0 ? 4 : 10;
    std::vector<Values> errors(n, Values(dimension));
    Values common(dimension);
    for (double& x : common) x = normal(random);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < dimension; ++k) {
        const double own = dimension == 4 ? 1.0 : 1e-3 * std::pow(10.0, -(k % 6));
        errors[i][k] = std::pow(10.0, -0.3 * i) * ((dimension == 4 ? 0.0 : common[k]) + own * normal(random));
      }
    const Gram g = gram(errors);
    Gram rounded = g;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        rounded.products[i + j * n] = rounded.products[j + i * n] =
            g.at(i, j) + 1e-16 * normal(random) * std::sqrt(g.at(i, i) * g.at(j, j));
    const Values c = diis_coefficients(n, g.products.data()), d = diis_coefficients(n, rounded.products.data());
    double difference = 0.0, shortest = HUGE_VAL;
    for (int k = 0; k < dimension; ++k) {
      double sum = 0.0;
      for (int i = 0; i < n; ++i) sum += (c[i] - d[i]) * errors[i][k];
      difference += sum * sum;
    }
    for (int i = 0; i < n; ++i) shortest = std::min(shortest, g.at(i, i));
    worst = std::max(worst, std::sqrt(difference / shortest));
  }
  CHECK(worst < 1e-9);
}
