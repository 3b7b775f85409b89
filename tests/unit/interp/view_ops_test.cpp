#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include "runtime/interp/view_ops.h"

namespace {

/// A 2 x 3 part of a 4 x 5 column-major array, beginning at (1, 2).
sial::MutableView inner(std::vector<double>& data) {
  sial::MutableView v;
  v.data = data.data() + 1 + 2 * 4;
  v.rank = 2;
  v.extent = {2, 3, 1, 1, 1, 1};
  v.stride = {1, 4};
  return v;
}

}  // namespace

TEST_CASE("element loops touch exactly the view") {
  std::vector<double> data(20, 1.0);
  const sial::MutableView v = inner(data);
  CHECK(!sial::is_dense(v));
  sial::fill_view(v, 5.0);
  CHECK(std::accumulate(data.begin(), data.end(), 0.0) == 14 + 30);
  sial::add_to_view(v, 1.0);
  sial::scale_view(v, 2.0);
  CHECK(std::accumulate(data.begin(), data.end(), 0.0) == 14 + 72);
  CHECK(data[0] == 1.0);
  CHECK(data[1 + 2 * 4] == 12.0);
}

TEST_CASE("copies and sums follow index order, not memory order") {
  std::vector<double> data(20), dense(6);
  std::iota(data.begin(), data.end(), 0.0);
  sial::Shape shape{2, {2, 3, 1, 1, 1, 1}};
  sial::copy_view(sial::dense_view(dense.data(), shape, {}), sial::as_const(inner(data)));
  CHECK(dense == std::vector<double>{9, 10, 13, 14, 17, 18});
  sial::sum_views(inner(data), sial::as_const(sial::dense_view(dense.data(), shape, {})), sial::as_const(inner(data)), -1.0);
  CHECK(data[9] == 0.0);
  CHECK(data[18] == 0.0);
  CHECK(data[8] == 8.0);
}

TEST_CASE("empty views have no elements and touch nothing") {
  std::vector<double> data(20, 1.0);
  sial::MutableView v = inner(data);
  v.extent[1] = 0;
  sial::fill_view(v, 9.0);
  sial::scale_view(v, 9.0);
  CHECK(std::accumulate(data.begin(), data.end(), 0.0) == 20.0);
  CHECK(!sial::may_overlap(v, inner(data)));
  CHECK(sial::may_overlap(inner(data), inner(data)));
}
