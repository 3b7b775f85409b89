// Contractions whose rows are read where they lie: runs cut into tiles alike, in any number of dimensions, begun and
// ended within by threads.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"
#include "tests/conformance/kernels/case_count.h"

using namespace sial;
using namespace sial::kernels;

namespace {

using Random = std::mt19937;
std::int64_t draw(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

/// Positions of a group of dimensions by one stride, first dimension fastest.
std::vector<std::int64_t> positions(const std::vector<LoopDim>& dims, std::int64_t LoopDim::* stride) {
  std::vector<std::int64_t> at{0};
  for (const LoopDim& dim : dims) {
    const std::vector<std::int64_t> inner = at;
    at.clear();
    for (std::int64_t i = 0; i < dim.extent; ++i)
      for (const std::int64_t place : inner) at.push_back(place + i * dim.*stride);
  }
  return at;
}

struct Problem {
  LoopSpace space;
  std::int64_t d_size = 1, a_size = 1, b_size = 1;

  /// `sum`: of so many positions, 0: of any number. D's and A's elements lie apart from each other now and then; A has
  /// its dimensions in an order of its own.
  Problem(Random& random, bool small, std::int64_t sum) {
    const auto apart = [&](std::int64_t n) { return n + (draw(random, 0, 2) == 0 ? draw(random, 1, 5) : 0); };
    const std::int64_t run = small ? draw(random, 1, 40) : draw(random, 1, 120);
    space.rows = {{run, 1, 1, 0}};
    for (std::int64_t n = draw(random, 0, 3); n > 0; --n)
      space.rows.push_back({draw(random, 1, small ? 5 : 7), 0, 0, 0});
    const bool one_column = draw(random, 0, 3) == 0;
    space.columns = {{one_column ? 1 : draw(random, 1, small ? 9 : 30), 0, 0, 0}};
    if (!one_column && draw(random, 0, 1)) space.columns.push_back({draw(random, 1, 3), 0, 0, 0});
    space.summed = {{sum > 0 ? sum : small ? draw(random, 1, 40) : draw(random, 1, 400), 0, 0, 0}};
    if (sum == 0 && draw(random, 0, 1)) space.summed.push_back({draw(random, 1, 3), 0, 0, 0});
    const auto lay = [&](std::int64_t LoopDim::* stride, std::vector<std::vector<LoopDim>*> groups) {
      std::int64_t size = 1;
      std::vector<LoopDim*> dims;
      for (auto* group : groups)
        for (LoopDim& dim : *group)
          if (&dim != &space.rows.front() || stride == &LoopDim::b) dims.push_back(&dim);
      if (groups.front() == &space.rows) size = apart(run);
      std::shuffle(dims.begin(), dims.end(), random);
      for (LoopDim* dim : dims) {
        dim->*stride = size;
        size = apart(size * dim->extent);
      }
      return size;
    };
    d_size = lay(&LoopDim::d, {&space.rows, &space.columns});
    a_size = lay(&LoopDim::a, {&space.rows, &space.summed});
    b_size = lay(&LoopDim::b, {&space.columns, &space.summed});
  }
};

void check(const TileKernels& table, Random& random, bool small, std::int64_t sum_of) {
  const Problem problem(random, small, sum_of);
  const LoopSpace& space = problem.space;
  std::vector<double> a(static_cast<std::size_t>(problem.a_size)), b(static_cast<std::size_t>(problem.b_size));
  for (double& x : a) x = static_cast<double>(draw(random, -9, 9));
  for (double& x : b) x = static_cast<double>(draw(random, -9, 9));
  double alpha = draw(random, 0, 2) == 0 ? -2.0 : 1.0, beta = static_cast<double>(draw(random, 0, 2));
  constexpr double untouched = 1e6;
  std::vector<double> before, want;
  const auto row_d = positions(space.rows, &LoopDim::d), row_a = positions(space.rows, &LoopDim::a),
             column_d = positions(space.columns, &LoopDim::d), column_b = positions(space.columns, &LoopDim::b),
             sum_a = positions(space.summed, &LoopDim::a), sum_b = positions(space.summed, &LoopDim::b);
  const auto compute = [&] {
    before.assign(static_cast<std::size_t>(problem.d_size), untouched);
    want = before;
    for (std::size_t i = 0; i < row_d.size(); ++i)
      for (std::size_t j = 0; j < column_d.size(); ++j) {
        const auto at = static_cast<std::size_t>(row_d[i] + column_d[j]);
        const double old = static_cast<double>(at % 23);
        before[at] = beta == 0.0 ? std::nan("") : old;
        double sum = 0;
        for (std::size_t p = 0; p < sum_a.size(); ++p)
          sum += a[static_cast<std::size_t>(row_a[i] + sum_a[p])] * b[static_cast<std::size_t>(column_b[j] + sum_b[p])];
        want[at] = alpha * sum + (beta == 0.0 ? 0.0 : beta * old);
      }
  };
  compute();
  for (const ContractionChoice& choice : contraction_choices(space, table.shape, true, 256)) {
    if (choice.plan.strategy != Strategy::tiles || choice.plan.pack_rows || choice.plan.swapped) continue;
    const ContractionStrategy& plan = choice.plan;
    std::vector<double> d = before, panels(static_cast<std::size_t>(column_panel_size(plan)));
    ContractionTables tables;
    tables.keeps_calls = true;
    PrefetchQueue near;
    const auto run = [&](std::int64_t first_row, std::int64_t last_row, std::int64_t first_column,
                         std::int64_t last_column) {
      ContractionWork work;
      work.d = d.data(), work.x = a.data(), work.y = b.data();
      work.alpha = alpha, work.beta = beta;
      work.column_panels = panels.data();
      work.first_row = first_row, work.last_row = last_row, work.first_column = first_column,
      work.last_column = last_column;
      if (draw(random, 0, 1)) {
        near.expect(a.data(), problem.a_size);
        near.begin(static_cast<double>(plan.m * plan.n * plan.k), 1.0);
        work.near = &near;
      }
      run_tiles(plan, table, work, tables);
    };
    INFO(choice.name << ": " << plan.why << ", alpha " << alpha << ", beta " << beta << ", vectors of "
                     << table.shape.width);
    const std::int64_t parts = draw(random, 0, 1) ? 1 : draw(random, 2, 5);
    if (parts > 1) {
      const bool by_columns = draw(random, 0, 2) == 0;
      for (std::int64_t k = 0; k < parts; ++k) {
        tables.of = nullptr;
        if (by_columns) run(0, plan.m, plan.n * k / parts, plan.n * (k + 1) / parts);
        else run(plan.m * k / parts, plan.m * (k + 1) / parts, 0, plan.n);
      }
      REQUIRE(d == want);
    } else {
      d = before;
      run(0, plan.m, 0, plan.n);
      REQUIRE(d == want);
      // With what is known from the first time: other blocks, panels and factors.
      std::vector<double>(a).swap(a), std::vector<double>(b).swap(b), std::vector<double>(panels.size()).swap(panels);
      alpha = -alpha, beta = beta == 0.0 ? 1.0 : beta - 1.0;
      a.front() += 1.0, b.back() -= 1.0;
      compute();
      d = std::vector<double>(before);
      run(0, plan.m, 0, plan.n);
      REQUIRE(d == want);
    }
  }
}

}  // namespace

TEST_CASE("rows in place: every run, whole or in part, and nothing beside it") {
  struct Tested {
    TileKernels table;
    std::int64_t sum = 0;
  };
  std::vector<Tested> all;
  for (const std::string cpu : {"", "x86-64-v3", "x86-64-v2"})
    if (cpu.empty() || processor_runs(cpu)) all.push_back({builtin_tiles(cpu_facts(cpu))});
  // Generated tiles for any sum, and for sums of one length exactly.
  const auto engine = make_code_engine({true, true, {}, {}});
  for (const int sum : {0, 6}) {
    if (!engine->wait(tile_key(1, 1, false))) break;
    const TileShape shape = generated_tile_shape(engine->facts());
    TileKernels table = builtin_tiles(engine->facts());
    table.shape = shape;
    for (int v = 1; v <= shape.tallest(); ++v)
      for (int c = 1; c <= (v <= shape.max_vectors ? shape.max_columns : shape.tall_columns); ++c)
        for (const bool masked : {false, true}) {
          table.tile(v, c, masked) = reinterpret_cast<TileCode>(engine->wait(tile_key(v, c, masked, sum)));
          REQUIRE(table.tile(v, c, masked));
        }
    all.push_back({table, sum});
  }
  Random random(20261125);
  for (std::int64_t i = 0; i < kernel_cases::case_count(2000); ++i) {
    const Tested& tested = all[static_cast<std::size_t>(i) % all.size()];
    check(tested.table, random, i % 4 != 0, tested.sum);
  }
}

TEST_CASE("operations of more calls than are kept are as right the second time") {
  // Runs that end with part of a vector, in ever new places.
  const TileKernels table = builtin_tiles(processor_facts());
  const std::int64_t run = 4 * table.shape.rows() + 1, outer = 7, k = 3, n = 2;
  LoopSpace space;
  std::int64_t d_stride = run + 1, a_stride = run * k + 1;
  space.rows = {{run, 1, 1, 0}};
  for (int i = 0; i < 4; ++i) {
    space.rows.push_back({outer, d_stride, a_stride, 0});
    d_stride = d_stride * outer + 1, a_stride = a_stride * outer + 1;
  }
  space.columns = {{n, d_stride, 0, k}};
  space.summed = {{k, 0, run, 1}};
  const auto row_d = positions(space.rows, &LoopDim::d), row_a = positions(space.rows, &LoopDim::a);
  std::vector<double> a(static_cast<std::size_t>(a_stride)), b(static_cast<std::size_t>(k * n)),
      d(static_cast<std::size_t>(d_stride * n));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 19);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i + 1);
  for (const ContractionChoice& choice : contraction_choices(space, table.shape, true, 256)) {
    if (choice.plan.strategy != Strategy::tiles || choice.plan.pack_rows || choice.plan.swapped) continue;
    std::vector<double> panels(static_cast<std::size_t>(column_panel_size(choice.plan)));
    ContractionTables tables;
    tables.keeps_calls = true;
    for (int again = 0; again < 3; ++again) {
      std::fill(d.begin(), d.end(), std::nan(""));
      ContractionWork work;
      work.d = d.data(), work.x = a.data(), work.y = b.data();
      work.column_panels = panels.data();
      work.last_row = choice.plan.m, work.last_column = choice.plan.n;
      run_tiles(choice.plan, table, work, tables);
      CHECK(tables.of == nullptr);
      INFO(choice.name << ", time " << again << ", " << tables.calls.size() << " calls kept");
      for (std::int64_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < row_d.size(); ++i) {
          double want = 0;
          for (std::int64_t p = 0; p < k; ++p)
            want += a[static_cast<std::size_t>(row_a[i] + p * run)] * b[static_cast<std::size_t>(p + j * k)];
          if (d[static_cast<std::size_t>(row_d[i] + j * d_stride)] != want) FAIL("row " << i << ", column " << j);
        }
    }
  }
}
