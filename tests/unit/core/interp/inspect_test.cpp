#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/core/interp/operations/inspect.h"

using namespace sial;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();

ConstView matrix(const std::vector<double>& data, std::int64_t rows, std::int64_t columns) {
  return dense_view(data.data(), Shape{2, {rows, columns, 1, 1, 1, 1, 1, 1}}, {});
}

std::vector<double> selected(const ConstView& view, double threshold, std::int64_t limit, std::int64_t expected) {
  std::int64_t found = 0;
  std::vector<double> values;
  for (const Element& e : select_elements(view, threshold, limit, found)) values.push_back(e.value);
  CHECK(found == expected);
  return values;
}

}  // namespace

TEST_CASE("the norm survives squares that overflow or vanish") {
  CHECK(frobenius_norm(matrix({3, 0, 0, -4}, 2, 2)) == 5);
  CHECK(frobenius_norm(matrix({0, 0}, 2, 1)) == 0);
  CHECK(frobenius_norm(matrix({}, 0, 3)) == 0);
  CHECK(frobenius_norm(matrix({3e200, -4e200}, 2, 1)) == Approx(5e200));
  CHECK(frobenius_norm(matrix({3e-200, -4e-200}, 2, 1)) == Approx(5e-200));
  CHECK(std::isnan(frobenius_norm(matrix({1, not_a_number}, 2, 1))));
  CHECK(std::isinf(frobenius_norm(matrix({1, -std::numeric_limits<double>::infinity()}, 2, 1))));
}

TEST_CASE("the largest element is the first of equals, and a NaN before all") {
  CHECK(largest_element(matrix({1, -5, 5, 2}, 2, 2)).at == std::array<std::int64_t, max_rank>{1, 0});
  CHECK(largest_element(matrix({1, -5, 5, 2}, 2, 2)).value == -5);
  const Element e =
      largest_element(matrix({std::numeric_limits<double>::infinity(), 0, not_a_number, not_a_number}, 2, 2));
  CHECK(std::isnan(e.value));
  CHECK(e.at == std::array<std::int64_t, max_rank>{0, 1});
  // A part of a larger array.
  const std::vector<double> data{1, 2, 9, 3, 4, 9};
  ConstView view = matrix(data, 2, 2);
  view.stride[1] = 3;
  CHECK(largest_element(view).at == std::array<std::int64_t, max_rank>{1, 1});
}

TEST_CASE("elements come as they are stored, or the largest first") {
  const std::vector<double> data{0.5, -3, 0, 3, -0.1, 2};
  const ConstView view = matrix(data, 2, 3);
  CHECK(selected(view, 0, 100, 6) == data);
  CHECK(selected(view, 0.5, 100, 4) == std::vector<double>{0.5, -3, 3, 2});
  CHECK(selected(view, 0.5, 4, 4) == std::vector<double>{0.5, -3, 3, 2});
  CHECK(selected(view, 0.5, 3, 4) == std::vector<double>{-3, 3, 2});
  CHECK(selected(view, 0, 1, 6) == std::vector<double>{-3});
  CHECK(selected(view, 0, 0, 6).empty());
  CHECK(selected(view, 10, 5, 0).empty());
  const std::vector<double> broken = selected(matrix({1, not_a_number, 7}, 3, 1), 5, 1, 2);
  REQUIRE(broken.size() == 1);
  CHECK(std::isnan(broken[0]));
}

TEST_CASE("elements are named by the index names and their numbers over all segments") {
  ElementLabels labels{"t2", {"a", "i"}, {11, 3}};
  CHECK(element_name(labels, 2, {{1, 0}, 0.5}) == "t2[a=12,i=3]");
}
