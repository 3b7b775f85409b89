#include <catch2/catch.hpp>

#include <cmath>

#include "tests/unit/chemistry/super/context.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

void check_close(const Values& got, const Values& want, double margin = 1e-14) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(margin));
}

}  // namespace

TEST_CASE("symmetric eigenproblems") {
  FakeContext c;
  const double r = std::sqrt(0.5);
  Array a({2, 2}, {2, 1, -99, 2}), b({2, 2});  // the upper triangle does not count
  execute(c, "eigen_calc", {a, b});
  check_close(a.data, {1, 0, 0, 3});
  check_close(b.data, {r, -r, r, r});  // first component positive
  Array one({1, 1}, {5}), v({1, 1});
  execute(c, "eigen_calc", {one, v});
  CHECK(v.data == Values{1});
  Array wrong({2, 3});
  CHECK_THAT(execution_error(c, "eigen_calc", {wrong, b}), Contains("not a square matrix"));
  CHECK_THAT(execution_error(c, "eigen_calc", {a, v}), Contains("differ in size"));
  Array bad({2, 2}, {1, 0, 0, std::nan("")});
  CHECK_THAT(execution_error(c, "eigen_calc", {bad, b}), Contains("not a number"));
}

TEST_CASE("inverse square roots, dropping small ones") {
  FakeContext c;
  Scalar dropped{-1};
  Array s({3, 3}, {16, 0, 0, 0, 4, 0, 0, 0, 9}), b({3, 3});
  execute(c, "eigen_calc_sqr_inv", {s, b, dropped});
  CHECK(dropped.value == 0);
  check_close(s.data, {0.5, 0, 0, 0, 1 / 3.0, 0, 0, 0, 0.25});
  check_close(b.data, {0, 1, 0, 0, 0, 1, 1, 0, 0});

  Array d({3, 3}, {1e-10, 0, 0, 0, 4, 0, 0, 0, 9}), e({3, 3});
  execute(c, "eigen_calc_sqr_inv", {d, e, dropped});
  CHECK(dropped.value == 1);
  check_close(d.data, {1 / 3.0, 0, 0, 0, 0.5, 0, 0, 0, 0});
  check_close(e.data, {0, 0, 1, 0, 1, 0, 1, 0, 0});

  c.data.ints["lindep_tol"] = 11;
  Array f({2, 2}, {1e-10, 0, 0, 4}), g({2, 2});
  execute(c, "eigen_calc_sqr_inv", {f, g, dropped});
  CHECK(dropped.value == 0);
  check_close(f.data, {1e5, 0, 0, 0.5}, 1e-9);
}

TEST_CASE("general eigenproblems") {
  FakeContext c;
  // Upper triangular: eigenvalues 3, 1, 0; right vector of 1 is (-1, 1, 0)/sqrt 2, left vector of 3 is along (2, 1,
  // ..).
  Array a({3, 3}, {3, 0, 0, 2, 1, 0, 0, 0, 0}), l({3, 3}), r({3, 3}), e({3});
  execute(c, "gen_eigen_calc", {a, l, r, e});
  check_close(e.data, {1, 3, 0});
  auto column = [](const Array& m, int j) { return Values(m.data.begin() + 3 * j, m.data.begin() + 3 * j + 3); };
  double s = column(r, 0)[1] > 0 ? 1 : -1;
  check_close(column(r, 0), {-s * std::sqrt(0.5), s * std::sqrt(0.5), 0});
  s = column(l, 1)[0] > 0 ? 1 : -1;
  check_close(column(l, 1), {s * std::sqrt(0.5), s * std::sqrt(0.5), 0});

  // A rotation: eigenvalues +-2i have real part 0; a large imaginary part warns.
  Array rotation({2, 2}, {0, 2, -2, 0}), l2({2, 2}), r2({2, 2}), e2({2, 2});
  execute(c, "gen_eigen_calc", {rotation, l2, r2, e2});
  check_close(e2.data, {0, 0, 0, 0});
  CHECK_THAT(c.output.str(), Contains("imaginary part 2.0"));
  // Real and imaginary part of the first vector of a pair: together they span the space of both.
  CHECK(std::abs(r2.data[0] * r2.data[3] - r2.data[1] * r2.data[2]) == Approx(0.5));
  CHECK(std::abs(l2.data[0] * l2.data[3] - l2.data[1] * l2.data[2]) == Approx(0.5));
  CHECK_THAT(execution_error(c, "gen_eigen_calc", {a, l, r, e2}), Contains("do not fit"));
}
