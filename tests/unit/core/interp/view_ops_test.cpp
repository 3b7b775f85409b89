#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include "runtime/core/interp/context/view_ops.h"

namespace {

/// A 2 x 3 part of a 4 x 5 column-major array, beginning at (1, 2).
sial::MutableView inner(std::vector<double>& data) {
  sial::MutableView v;
  v.data = data.data() + 1 + 2 * 4;
  v.rank = 2;
  v.extent = {2, 3, 1, 1, 1, 1, 1, 1};
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
  sial::Shape shape{2, {2, 3, 1, 1, 1, 1, 1, 1}};
  sial::copy_view(sial::dense_view(dense.data(), shape, {}), sial::as_const(inner(data)));
  CHECK(dense == std::vector<double>{9, 10, 13, 14, 17, 18});
  sial::sum_views(inner(data), sial::as_const(sial::dense_view(dense.data(), shape, {})), sial::as_const(inner(data)),
                  -1.0);
  CHECK(data[9] == 0.0);
  CHECK(data[18] == 0.0);
  CHECK(data[8] == 8.0);
}

TEST_CASE("views in any order of memory are copied, summed and scaled element by element") {
  // Parts of arrays with strides in every order, extents of 1 among them, and gaps; every element against its position.
  const std::array<std::int64_t, 4> extent{5, 1, 9, 34};
  struct Layout {
    std::vector<double> data;
    sial::MutableView view;
  };
  const auto lay_out = [&](const std::array<int, 4>& order, std::int64_t gap, double first) {
    Layout l;
    std::int64_t stride = gap;
    l.view.rank = 4;
    for (const int d : order) {
      l.view.extent[d] = extent[d];
      l.view.stride[d] = stride;
      stride *= extent[d] + gap - 1;
    }
    l.data.resize(static_cast<std::size_t>(stride));
    std::iota(l.data.begin(), l.data.end(), first);
    l.view.data = l.data.data();
    return l;
  };
  const auto at = [&](const sial::MutableView& v, std::int64_t i, std::int64_t k, std::int64_t l) {
    return i * v.stride[0] + k * v.stride[2] + l * v.stride[3];
  };
  for (const std::array<int, 4>& order : {std::array<int, 4>{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}})
    for (const std::int64_t gap : {1, 3}) {
      Layout to = lay_out(order, gap, -1e4), a = lay_out({0, 1, 2, 3}, 2, 0.0);
      const Layout b = lay_out({3, 1, 0, 2}, 1, 0.5);
      std::vector<double> expected = to.data;
      const auto check = [&](auto&& value) {
        for (std::int64_t i = 0; i < extent[0]; ++i)
          for (std::int64_t k = 0; k < extent[2]; ++k)
            for (std::int64_t l = 0; l < extent[3]; ++l) {
              double& x = expected[static_cast<std::size_t>(at(to.view, i, k, l))];
              x = value(x, a.data[static_cast<std::size_t>(at(a.view, i, k, l))],
                        b.data[static_cast<std::size_t>(at(b.view, i, k, l))]);
            }
        CHECK(to.data == expected);
      };
      sial::copy_view(to.view, sial::as_const(b.view));
      check([](double, double, double y) { return y; });
      sial::sum_views(to.view, sial::as_const(a.view), sial::as_const(to.view), -1.0);
      check([](double old, double x, double) { return x - old; });
      sial::sum_views(to.view, sial::as_const(to.view), sial::as_const(b.view), 1.0);
      check([](double old, double, double y) { return old + y; });
      sial::scale_view(to.view, 0.5);
      check([](double old, double, double) { return old * 0.5; });
      sial::add_to_view(to.view, 2.0);
      check([](double old, double, double) { return old + 2.0; });
      sial::copy_view(to.view, sial::as_const(to.view));
      check([](double old, double, double) { return old; });
      sial::fill_view(to.view, 7.0);
      check([](double, double, double) { return 7.0; });
    }
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
