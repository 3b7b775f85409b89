// Results of a device compared with the host's.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include "runtime/core/device/measure/self_check.h"

using namespace sial;

namespace {

/// The device's memory is the host's here; whoever computes does so in place.
std::vector<double> fetch(const double* p, std::int64_t n) { return {p, p + n}; }

template <class T>
BlockView<T> matrix(T* data, std::int64_t rows, std::int64_t columns, std::int32_t row, std::int32_t column) {
  BlockView<T> v;
  v.data = data;
  v.rank = 2;
  v.extent[0] = rows, v.extent[1] = columns;
  v.stride[0] = 1, v.stride[1] = rows;
  v.label[0] = row, v.label[1] = column;
  return v;
}

std::vector<double> random_values(std::size_t n, double size) {
  std::mt19937 r(static_cast<unsigned>(n));
  std::uniform_real_distribution<double> u(-size, size);
  std::vector<double> v(n);
  for (double& x : v) x = u(r);
  return v;
}

/// d(i, j) = sum over k of a(i, k) b(k, j), added up from behind.
void multiply_backwards(const BlockOp& op) {
  for (std::int64_t i = 0; i < op.d.extent[0]; ++i)
    for (std::int64_t j = 0; j < op.d.extent[1]; ++j) {
      double sum = 0.0;
      for (std::int64_t k = op.a.extent[1]; k-- > 0;)
        sum += op.a.data[i + k * op.a.stride[1]] * op.b.data[k + j * op.b.stride[1]];
      double& d = op.d.data[i + j * op.d.stride[1]];
      d = op.alpha * sum + (op.beta == 0.0 ? 0.0 : op.beta * d);
    }
}

BlockOp product(std::vector<double>& d, const std::vector<double>& a, const std::vector<double>& b, std::int64_t n) {
  BlockOp op;
  op.d = matrix(d.data(), n, n, 0, 1);
  op.a = matrix(a.data(), n, n, 0, 2);
  op.b = matrix(b.data(), n, n, 2, 1);
  op.has_b = true;
  return op;
}

constexpr std::int64_t n = 40;
constexpr std::size_t elements = static_cast<std::size_t>(n * n);

}  // namespace

TEST_CASE("of so many operations one is due") {
  SelfCheck check(3, fetch);
  std::vector<bool> due;
  for (int i = 0; i < 7; ++i) due.push_back(check.due());
  CHECK(due == std::vector<bool>{false, false, true, false, false, true, false});
}

TEST_CASE("another order of summation is rounding, another element is not") {
  for (const double beta : {0.0, 1.0, -0.5}) {
    SelfCheck check(1, fetch);
    const std::vector<double> a = random_values(elements, 1e3), b = random_values(elements + 1, 1e-3);
    std::vector<double> d = random_values(elements + 2, 1.0);
    if (beta == 0.0) d.assign(d.size(), std::numeric_limits<double>::quiet_NaN());
    BlockOp op = product(d, a, b, n);
    op.alpha = 0.3;
    op.beta = beta;
    CHECK_NOTHROW(check.compare(op, [&] { multiply_backwards(op); }));
    CHECK(check.compared() == 1);
    const std::vector<double> before = d;
    for (const double error :
         {1e-9, 1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      CAPTURE(error);
      std::copy(before.begin(), before.end(), d.begin());
      CHECK_THROWS_AS(check.compare(op, [&] { multiply_backwards(op), d[elements - 1] += error; }), WrongResult);
    }
  }
}

TEST_CASE("the element is named, and both values") {
  SelfCheck check(1, fetch);
  const std::vector<double> a(elements, 1.0), b(elements, 2.0);
  std::vector<double> d(elements, 0.0);
  const BlockOp op = product(d, a, b, n);
  try {
    check.compare(op, [&] { multiply_backwards(op), d[3 + 5 * n] = 81.0; });
    FAIL("not noticed");
  } catch (const WrongResult& wrong) {
    CHECK(wrong.text.find("contraction at element (3,5): the device computed 81, the reference kernels 80") !=
          std::string::npos);
  }
}

TEST_CASE("element-wise steps: what cancels is judged by what it was made of") {
  using kernels::FusedOp;
  SelfCheck check(1, fetch);
  EnergyDifferences energies;
  energies.rank = 2;
  energies.energy[0] = {-1.0, -0.7, -0.1};
  energies.energy[1] = {0.3, 0.5};
  const std::vector<double> before{0.9, -0.8, 0.7, 0.6, -0.5, 0.4};
  std::vector<double> d = before;
  const std::vector<double> a = random_values(7, 1.0);
  const MutableView target = matrix(d.data(), 3, 2, 0, 1);
  const kernels::FusedSource source{a.data(), {1, 3}};
  const std::vector<kernels::FusedStep> steps{{FusedOp::scale, 1e10, {}, {}, nullptr},
                                              {FusedOp::accumulate, -0.5, source, {}, nullptr},
                                              {FusedOp::divide, 0.0, {}, {}, &energies},
                                              {FusedOp::sum, -1.0, {d.data(), {1, 3}}, source, nullptr}};
  double error = 0.0;
  const auto compute = [&] {
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t i = 0; i < 3; ++i) {
        double& x = d[i + 3 * j];
        x = (x * 1e10 - 0.5 * a[i + 3 * j]) / (energies.energy[1][j] - energies.energy[0][i]) - a[i + 3 * j] + error;
      }
  };
  CHECK_NOTHROW(check.compare(target, steps, compute));
  std::copy(before.begin(), before.end(), d.begin());
  error = 1e-6;  // of 1e10
  CHECK_NOTHROW(check.compare(target, steps, compute));
  std::copy(before.begin(), before.end(), d.begin());
  error = 1e-2;
  CHECK_THROWS_AS(check.compare(target, steps, compute), WrongResult);
}

TEST_CASE("inner products") {
  SelfCheck check(1, fetch);
  const std::vector<double> a = random_values(elements, 1.0), b = random_values(elements + 1, 1.0);
  ConstView x = matrix(a.data(), n, n, 0, 1), y = matrix(b.data(), n, n, 1, 0);
  double sum = 0.0;
  for (std::int64_t i = n; i-- > 0;)
    for (std::int64_t j = n; j-- > 0;)
      sum += a[static_cast<std::size_t>(i + n * j)] * b[static_cast<std::size_t>(j + n * i)];
  CHECK_NOTHROW(check.compare(x, y, sum));
  CHECK_THROWS_AS(check.compare(x, y, sum + 1e-9), WrongResult);
}

TEST_CASE("nothing is compared of what has no elements") {
  SelfCheck check(1, fetch);
  std::vector<double> d(1), a(1), b(1);
  BlockOp op = product(d, a, b, 0);
  CHECK_NOTHROW(check.compare(op, [] {}));
}
