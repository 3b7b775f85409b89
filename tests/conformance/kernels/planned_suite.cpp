// Contractions by plan: every strategy against the reference, on operands that end where memory ends; the same bits
// from built-in and generated tiles, on any processor that can be emulated, and on any number of threads; workspace as
// announced.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"
#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/cases.h"
#include "tests/conformance/kernels/contraction_cases.h"

using namespace sial;
using namespace sial::kernel_cases;

namespace {

const std::vector<std::string> strategies{"",
                                          "packed",
                                          "packed, columns in place",
                                          "run-spanning",
                                          "run-spanning, columns in place",
                                          "rows in place",
                                          "rows in place, all in place",
                                          "blas",
                                          "outer",
                                          "vector",
                                          "scattered output",
                                          "scattered output, columns in place"};

std::int64_t rounds() { return test_level::is_long() ? case_count(20000) : case_count(500); }

}  // namespace

TEST_CASE("every strategy agrees with the reference, within guarded memory") {
  CountingResource workspace;
  auto reference = make_kernels("reference", workspace);
  std::vector<std::unique_ptr<Kernels>> all;
  for (const bool jit : {false, true}) {
    if (jit && !kernels::make_code_engine({})->wait(kernels::tile_key(1, 1, false))) continue;
    for (const std::string& strategy : strategies) {
      KernelOptions options;
      options.strategy = strategy;
      options.jit = jit;
      options.jit_at_once = true;
      all.push_back(make_kernels("auto", workspace, options));
    }
  }
  for (std::int64_t i = 0; i < rounds(); ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Case c = make_case(seed, false);
    const auto want = outcome(*reference, c, true);
    for (std::size_t k = 0; k < all.size(); ++k) {
      INFO("seed " << seed << ", strategy `" << strategies[k % strategies.size()] << "`, generated "
                   << k / strategies.size());
      REQUIRE(equal_values(want, outcome(*all[k], c, (i + static_cast<std::int64_t>(k)) % 2 == 0)));
    }
  }
  CHECK(workspace.stats().bytes_in_use == 0);
}

TEST_CASE("what operations will read soon is fetched once, evenly, by those before") {
  using kernels::PrefetchQueue;
  std::vector<double> soon(8 * 1000), later(8 * 100 + 1), own(8 * 10);
  constexpr double cycles = 50;  // of a tile
  struct Fetched {
    std::int64_t lines = 0, tiles = 0, most = 0;
  };
  // An operation of so many calls, of tiles that repeat so often in so many groups of columns; what each line is
  // fetched for.
  const auto operate = [&](PrefetchQueue& near, int calls, std::int64_t repeat, std::int64_t groups,
                           std::vector<const double*>& lines) {
    Fetched f;
    near.drop(own.data(), nullptr);
    near.begin(cycles * static_cast<double>(calls * repeat * groups), 1.0);
    for (int i = 0; i < calls; ++i)
      for (std::int64_t left = groups; left > 0;) {
        kernels::TileWork work;
        work.repeat = repeat, work.column_groups = left;
        near.share(work, cycles);
        REQUIRE(work.column_groups >= 1);
        REQUIRE(work.column_groups <= left);
        left -= work.column_groups;
        const std::int64_t tiles = repeat * work.column_groups;
        f.tiles += tiles, f.lines += tiles * work.prefetch_lines, f.most = std::max(f.most, work.prefetch_lines);
        for (std::int64_t l = 0; l < tiles * work.prefetch_lines; ++l)
          lines.push_back(work.near + l * kernels::prefetch_line);
      }
    return f;
  };
  const auto times = [](const std::vector<const double*>& lines, const double* p) {
    return std::count(lines.begin(), lines.end(), p);
  };
  SECTION("all of it where there is time") {
    PrefetchQueue near;
    near.expect(soon.data(), static_cast<std::int64_t>(soon.size()));
    near.expect(own.data(), static_cast<std::int64_t>(own.size()));
    near.expect(later.data(), static_cast<std::int64_t>(later.size()));
    std::vector<const double*> lines;
    const Fetched f = operate(near, 4, 3, 100, lines);
    CHECK(f.tiles == 1200);
    CHECK(f.most == 1);  // 1101 lines by 1200 tiles
    for (std::size_t i = 0; i < soon.size(); i += 8) REQUIRE(times(lines, &soon[i]) == 1);
    for (std::size_t i = 0; i < later.size(); i += 8) REQUIRE(times(lines, &later[i]) == 1);
    for (std::size_t i = 0; i < own.size(); i += 8) REQUIRE(times(lines, &own[i]) == 0);
    CHECK(f.lines < 1110);
    lines.clear();
    CHECK(operate(near, 4, 3, 100, lines).lines == 0);
  }
  SECTION("no faster than memory gives it, and the rest by the next one") {
    PrefetchQueue near;
    near.expect(soon.data(), static_cast<std::int64_t>(soon.size()));
    std::vector<const double*> lines;
    const Fetched f = operate(near, 5, 2, 7, lines);
    CHECK(f.most == 7);  // 50 cycles of 8 each
    CHECK(f.lines == 7 * 70);
    CHECK(operate(near, 5, 2, 20, lines).lines >= 1000 - 490);
    for (std::size_t i = 0; i < soon.size(); i += 8) REQUIRE(times(lines, &soon[i]) == 1);
  }
  SECTION("not what was read meanwhile") {
    PrefetchQueue near;
    near.expect(soon.data(), static_cast<std::int64_t>(soon.size()));
    near.expect(later.data(), static_cast<std::int64_t>(later.size()));
    near.drop(soon.data(), nullptr);
    std::vector<const double*> lines;
    CHECK(operate(near, 1, 1, 200, lines).most == 1);
    for (std::size_t i = 0; i < soon.size(); i += 8) REQUIRE(times(lines, &soon[i]) == 0);
    for (std::size_t i = 0; i < later.size(); i += 8) REQUIRE(times(lines, &later[i]) == 1);
  }
  SECTION("of more than there is room for, the last") {
    PrefetchQueue near;
    std::vector<const double*> lines;
    for (int i = 0; i < 100; ++i) near.expect(&soon[static_cast<std::size_t>(80 * i)], 80);
    CHECK(operate(near, 1, 1, 200, lines).most == 1);
    CHECK(lines.size() == 160);
    for (std::size_t i = 0; i < soon.size(); i += 8) REQUIRE(times(lines, &soon[i]) == (i < 84 * 80 ? 0 : 1));
  }
}

TEST_CASE("columns are shared out among as few tiles as hold them, and none is left alone") {
  for (const int most : {4, 8})
    for (std::int64_t n = 0; n <= 200; ++n) {
      INFO(n << " columns, at most " << most << " in a tile");
      const kernels::BalancedSplit cut(n, most);
      CHECK(cut.large * cut.many + cut.small * cut.few == n);
      CHECK(cut.many + cut.few == (n + most - 1) / most);
      CHECK(cut.large <= most);
      CHECK((cut.few == 0 || cut.small == cut.large - 1));
      CHECK((n <= 1 || (cut.few > 0 ? cut.small : cut.large) > 1));
      for (std::int64_t j = 0; j < n; ++j) CHECK(cut.width_at(j) == (j < cut.in_large() ? cut.large : cut.small));
    }
  CHECK(kernels::BalancedSplit(25, 4).many == 4);  // 4 4 4 4 3 3 3 instead of six fours and a one
  CHECK(kernels::BalancedSplit(5, 4).small == 2);
}

namespace {

void check_joined_runs(const kernels::TileKernels& table) {
  struct Row {
    std::int64_t p;
    bool swapped;
    std::size_t tiles;
    std::int64_t repeat;
  };
  const std::int64_t rows = table.shape.rows(), r = 3, s = 5, t = 7, q = 6;
  // One vector more than a tile holds: a tall tile, or two that share the vectors evenly where they can.
  const bool tall = table.shape.tall_columns > 0, even = table.shape.max_vectors % 2 == 1;
  for (const Row& row : {Row{rows, false, 1, 15}, Row{rows - 1, false, 1, 15}, Row{rows, true, 1, 3},
                         Row{2 * rows, false, 1, 2}, Row{rows + 1, false, tall ? 1u : 2u, tall ? 15 : 1},
                         Row{rows + table.shape.width, false, tall || even ? 1u : 2u,
                             tall   ? 15
                             : even ? 2
                                    : 1}}) {
    for (const std::string name : {"rows in place, all in place", "packed"}) {
      // d[pqrs] = a[ptrs] b[qt], and with r and s the other way round in a
      const std::int64_t p = row.p, a_r = row.swapped ? p * t * s : p * t, a_s = row.swapped ? p * t : p * t * r;
      kernels::LoopSpace space;
      space.rows = {{p, 1, 1, 0}, {r, p * q, a_r, 0}, {s, p * q * r, a_s, 0}};
      space.columns = {{q, p, 0, 1}};
      space.summed = {{t, 0, p, q}};
      std::vector<double> a(static_cast<std::size_t>(p * t * r * s)), b(static_cast<std::size_t>(q * t)),
          d(static_cast<std::size_t>(p * q * r * s), std::nan(""));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 17);
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 13);
      const auto choices = kernels::contraction_choices(space, table.shape, true, 256);
      const auto chosen = std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return c.name == name; });
      REQUIRE(chosen != choices.end());
      const kernels::ContractionStrategy& plan = chosen->plan;
      std::vector<double> panels(
          static_cast<std::size_t>(kernels::row_panel_size(plan, false) + kernels::column_panel_size(plan)));
      kernels::ContractionWork work;
      work.d = d.data(), work.x = a.data(), work.y = b.data();
      work.row_panels = panels.data(), work.column_panels = panels.data() + kernels::row_panel_size(plan, false);
      work.last_row = plan.m, work.last_column = plan.n;
      kernels::ContractionTables tables;
      kernels::run_tiles(plan, table, work, tables);
      INFO(name << ", runs of " << p << (row.swapped ? ", swapped" : ""));
      if (name != "packed") {
        CHECK(tables.tiles.size() == row.tiles);
        CHECK(tables.tiles.front().repeat == row.repeat);
      }
      for (std::int64_t i = 0; i < p * q * r * s; ++i) {
        const std::int64_t ip = i % p, iq = i / p % q, ir = i / (p * q) % r, is = i / (p * q * r);
        double want = 0;
        for (std::int64_t it = 0; it < t; ++it)
          want +=
              a[static_cast<std::size_t>(ip + it * p + ir * a_r + is * a_s)] * b[static_cast<std::size_t>(iq + it * q)];
        REQUIRE(d[static_cast<std::size_t>(i)] == want);
      }
    }
  }
}

}  // namespace

TEST_CASE("runs of one tile that are equally far apart are one column of tiles") {
  for (const std::string cpu : {"", "x86-64-v2", "x86-64-v3"})
    if (cpu.empty() || kernels::processor_runs(cpu)) DYNAMIC_SECTION("processor `" << cpu << "`") {
        check_joined_runs(kernels::builtin_tiles(kernels::cpu_facts(cpu)));
      }
}

TEST_CASE("runs that fill a tall tile take one, others do not") {
  const kernels::TileShape with{8, 3, 8, 6}, without{4, 3, 4, 0};
  struct Row {
    std::int64_t run;
    bool tall;
  };
  for (const Row& row :
       {Row{16, false}, Row{24, false}, Row{25, true}, Row{30, true}, Row{32, true}, Row{33, false}, Row{64, false}}) {
    kernels::LoopSpace space;
    space.rows = {{row.run, 1, 1, 0}, {5, row.run * 6, row.run * 7, 0}};
    space.columns = {{6, row.run, 0, 1}};
    space.summed = {{7, 0, row.run, 6}};
    for (const auto& choice : kernels::contraction_choices(space, with, true, 512)) {
      if (choice.plan.strategy != kernels::Strategy::tiles) continue;
      INFO(choice.name << ", runs of " << row.run);
      const bool tall = row.tall && !choice.plan.spanning;
      CHECK(choice.plan.tile.max_vectors == (tall ? 4 : 3));
      CHECK(choice.plan.tile.max_columns == (tall ? 6 : 8));
    }
    for (const auto& choice : kernels::contraction_choices(space, without, true, 256))
      CHECK(choice.plan.tile.max_vectors == 3);
  }
}

TEST_CASE(
    "outer products row by row, and by non-temporal stores, have the bits of others and touch nothing beside their rows") {
  for (const std::string cpu : {"", "x86-64-v3", "x86-64-v2"}) {
    if (!cpu.empty() && !kernels::processor_runs(cpu)) continue;
    const kernels::TileKernels table = kernels::builtin_tiles(kernels::cpu_facts(cpu));
    constexpr std::int64_t most = 150, apart = most + 3, columns = 5;
    std::vector<double> x(most), y(columns);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1.0 / static_cast<double>(3 * i + 7);
    for (const double beta : {0.0, 0.75})
      for (std::int64_t rows = 1; rows <= most; ++rows) {
        const auto run = [&](bool row_by_row, bool past_caches) {
          // Rows begin anywhere in a line.
          std::vector<double> d(static_cast<std::size_t>(columns * apart + most), 5.0);
          kernels::OuterWork w;
          w.d = d.data() + rows % 9, w.x = x.data(), w.y = y.data();
          w.rows = rows;
          w.inner = {columns, apart, 0, 1};
          w.alpha = -1.3, w.beta = beta;
          w.row_by_row = row_by_row, w.past_caches = past_caches;
          table.outer(w);
          kernels::complete_streams();
          return d;
        };
        INFO(rows << " rows, beta " << beta << ", processor `" << cpu << "`");
        const std::vector<double> expected = run(false, false);
        REQUIRE(run(true, false) == expected);
        if (beta == 0.0) REQUIRE(run(true, true) == expected);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const std::int64_t at = static_cast<std::int64_t>(i) - rows % 9, row = at % apart, column = at / apart;
          if (at < 0 || row >= rows || column >= columns) REQUIRE(expected[i] == 5.0);
          else
            REQUIRE(
                std::abs(expected[i] - (-1.3 * x[static_cast<std::size_t>(row)] * y[static_cast<std::size_t>(column)] +
                                        beta * 5.0)) < 1e-14);
        }
      }
  }
}

TEST_CASE("a single column has tall tiles where its rows are read in place, in steps or in short runs") {
  struct Row {
    std::int64_t run;
    bool evenly, single_column;
  };
  for (const kernels::TileShape& shape :
       {kernels::TileShape{8, 3, 8, 6, 8}, kernels::TileShape{4, 3, 4, 0, 8}, kernels::TileShape{8, 3, 8, 6, 0}}) {
    const std::int64_t most = 8 * shape.width;
    for (const Row& row : {Row{5, true, true}, Row{5, false, true}, Row{2 * most, false, true},
                           Row{2 * most + 1, false, false}, Row{9 * most, true, true}}) {
      for (const std::int64_t columns : {1, 2}) {
        kernels::LoopSpace space;
        space.rows = {{row.run, 1, 1, 0}};
        space.columns = {{columns, row.run, 0, 15}};
        space.summed = {{5, 0, row.run, 1}, {3, 0, row.run * (row.evenly ? 5 : 6), 5}};
        for (const auto& choice : kernels::contraction_choices(space, shape, true, 512)) {
          if (choice.plan.strategy != kernels::Strategy::tiles) continue;
          INFO(choice.name << ", runs of " << row.run << ", " << columns << " columns, vectors of " << shape.width);
          const bool single_column =
              columns == 1 && row.single_column && shape.single_column_vectors > 0 && !choice.plan.pack_rows;
          CHECK((choice.plan.tile.max_vectors == 8) == single_column);
          CHECK((choice.plan.tile.max_columns == 1) == single_column);
        }
      }
    }
  }
}

TEST_CASE(
    "a large operand whose order is against packing is read as columns, where few rows and long sums pay for scattering the result") {
  const kernels::TileShape shape{8, 3, 8, 6};
  const kernels::ContractionCosts costs = kernels::fixed_costs(8);  // on any machine
  struct Row {
    std::int64_t m, n, k;
    bool possible, chosen;
  };
  for (const Row& row :
       {Row{600, 25, 625, true, true}, Row{600, 16, 625, true, true}, Row{600, 5, 625, false, false},
        Row{600, 25, 19, false, false}, Row{600, 200, 625, false, false}, Row{20, 25, 625, false, false}}) {
    for (const bool against : {true, false}) {
      // d[mn] = a[km] b[kn], or a[mk]
      kernels::LoopSpace space;
      space.rows = {{row.m, 1, against ? row.k : 1, 0}};
      space.columns = {{row.n, row.m, 0, row.k}};
      space.summed = {{row.k, 0, against ? 1 : row.m, 1}};
      const auto choices = kernels::contraction_choices(space, shape, true, 512, &costs);
      const auto is_transposed = [](const auto& choice) { return choice.name.starts_with("scattered output"); };
      INFO(row.m << "x" << row.n << "x" << row.k << (against ? ", against" : ", along"));
      CHECK(std::any_of(choices.begin(), choices.end(), is_transposed) == row.possible);
      CHECK(is_transposed(choices.front()) == (row.chosen && against));
    }
  }
  CountingResource workspace;
  KernelOptions options;
  options.strategy = "packed";
  auto packed = make_kernels("auto", workspace, options);
  std::int64_t met = 0;
  for (const std::string strategy : {"scattered output", "scattered output, columns in place"}) {
    options.strategy = strategy;
    auto transposed = make_kernels("auto", workspace, options);
    for (std::int64_t i = 0; i < case_count(2000); ++i) {
      const std::uint64_t seed = base_seed() + 700000 + static_cast<std::uint64_t>(i);
      Case c = make_case(seed, true);
      const BlockOp op = operation(c);
      if (transposed->explain(op).find("scattered output") == std::string::npos ||
          !packed->explain(op).starts_with("register"))
        continue;
      ++met;
      INFO("seed " << seed << ": " << transposed->explain(op));
      REQUIRE(same_bits(outcome(*packed, c, true), outcome(*transposed, c, i % 2 == 0)));
    }
  }
  CHECK(met > case_count(50));

  // More than a block of rows, of columns, of summed positions; tall tiles; shared among threads.
  options.threads = 3;
  auto threads = make_kernels("auto", workspace, options);  // scattered output, columns in place
  options.threads = 1;
  auto in_place = make_kernels("auto", workspace, options);
  struct Large {
    std::int64_t m, n, k, l;
  };
  for (const Large& size : {Large{128, 1100, 20, 16}, Large{25, 1100, 28, 25}, Large{9, 300, 10, 100},
                            Large{120, 203, 31, 10}, Large{32, 401, 8, 8}}) {
    const Shape d_shape{2, {size.n, size.m}}, a_shape{3, {size.k, size.n, size.l}},
        b_shape{3, {size.l, size.m, size.k}};
    Generator g(base_seed() + static_cast<std::uint64_t>(size.m));
    const auto filled = [&](const Shape& shape) {
      std::vector<double> v(static_cast<std::size_t>(shape.size()));
      for (double& x : v) x = static_cast<double>(g.below(2000001) - 1000000) / 999983.0;
      return v;
    };
    const std::vector<double> a = filled(a_shape), b = filled(b_shape), before = filled(d_shape);
    const auto result = [&](Kernels& kernels, const std::string& way) {
      std::vector<double> d = before;
      BlockOp op;
      op.has_b = true;
      op.d = dense_view(d.data(), d_shape, {0, 1});
      op.a = dense_view(a.data(), a_shape, {2, 0, 3});
      op.b = dense_view(b.data(), b_shape, {3, 1, 2});
      op.alpha = 0.7, op.beta = -0.3;
      INFO(size.m << "x" << size.n << "x" << size.k << "x" << size.l << ": " << kernels.explain(op));
      CHECK(kernels.explain(op).find(way) != std::string::npos);
      kernels.run(op);
      return d;
    };
    const auto want = result(*packed, "packed");
    CHECK(same_bits(want, result(*in_place, "scattered output, columns in place")));
    CHECK(same_bits(want, result(*threads, "scattered output, columns in place")));
  }
}

TEST_CASE("tiles of any make and number of threads round alike") {
  CountingResource workspace;
  for (const std::string cpu : {"", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (!cpu.empty() && !kernels::processor_runs(cpu)) continue;
    DYNAMIC_SECTION("processor `" << cpu << "`") {
      for (const std::string strategy :
           {"packed", "run-spanning", "rows in place, all in place", "scattered output, columns in place"}) {
        KernelOptions options;
        options.strategy = strategy;
        options.jit_cpu = cpu;
        options.jit = false;
        auto built_in = make_kernels("auto", workspace, options);
        options.jit = options.jit_at_once = true;
        auto generated = make_kernels("auto", workspace, options);
        options.threads = 3;
        auto threads = make_kernels("auto", workspace, options);
        for (std::int64_t i = 0; i < rounds() / 4; ++i) {
          const std::uint64_t seed = base_seed() + 100000 + static_cast<std::uint64_t>(i);
          Case c = make_case(seed, true);
          INFO("seed " << seed << ", " << strategy);
          // Where there are no fast tiles built in, the BLAS takes what the strategy is not possible for.
          const BlockOp op = operation(c);
          if (built_in->explain(op).starts_with("blas") || generated->explain(op).starts_with("blas")) continue;
          const auto want = outcome(*built_in, c, true);
          REQUIRE(same_bits(want, outcome(*generated, c, true)));
          REQUIRE(same_bits(want, outcome(*threads, c, true)));
        }
      }
    }
  }
}

TEST_CASE("outer and matrix-vector products have the bits of tiles") {
  CountingResource workspace;
  for (const std::string cpu : {"", "x86-64-v2"}) {
    if (!cpu.empty() && !kernels::processor_runs(cpu)) continue;
    KernelOptions options;
    options.jit = false;
    options.jit_cpu = cpu;
    options.strategy = "packed";
    auto tiles = make_kernels("auto", workspace, options);
    for (const std::string strategy : {"outer", "vector"}) {
      options.strategy = strategy;
      options.threads = 3;
      auto thin = make_kernels("auto", workspace, options);
      std::int64_t met = 0;
      for (std::int64_t i = 0; i < case_count(600); ++i) {
        const std::uint64_t seed = base_seed() + 400000 + static_cast<std::uint64_t>(i);
        Case c = make_case(seed, true, strategy == "outer" ? Thin::outer : Thin::vector);
        const BlockOp op = operation(c);
        if (!thin->explain(op).starts_with(strategy == "outer" ? "outer" : "matrix-vector") ||
            !tiles->explain(op).starts_with("register"))
          continue;
        ++met;
        INFO("processor `" << cpu << "`, seed " << seed << ", " << strategy << ": " << thin->explain(op));
        REQUIRE(same_bits(outcome(*tiles, c, true), outcome(*thin, c, i % 2 == 0)));
      }
      CHECK(met > case_count(40));
    }
  }
}

TEST_CASE("the shapes that memory decides take the way made for them, others do not") {
  CountingResource workspace;
  KernelOptions options;
  options.costs = std::make_shared<kernels::ContractionCosts>(
      kernels::fixed_costs(kernels::builtin_tiles(kernels::cpu_facts("")).shape.width));  // on any machine
  auto kernels = make_kernels("auto", workspace, options);
  const auto explained = [&](const std::string& d, const std::string& a, const std::string& b) {
    BlockOp op;
    op.has_b = true;
    double none = 0.0;
    const auto view = [&](const std::string& text) {
      Shape shape;
      std::array<std::int32_t, max_rank> labels{};
      shape.rank = static_cast<std::int32_t>(text.size());
      for (std::size_t i = 0; i < text.size(); ++i) shape.extent[i] = 20, labels[i] = text[i];
      return dense_view(&none, shape, labels);
    };
    op.d = view(d);
    op.a = as_const(view(a));
    op.b = as_const(view(b));
    return kernels->explain(op);
  };
  CHECK(explained("aibj", "ai", "bj").starts_with("outer product"));
  CHECK(explained("abij", "ai", "bj").starts_with("outer product"));
  CHECK(explained("ab", "b", "a").starts_with("outer product"));
  CHECK(explained("pq", "pqrs", "sr").starts_with("matrix-vector"));
  CHECK(explained("", "pqrs", "rpqs") == "inner product");
  CHECK_FALSE(explained("pq", "rspq", "rs").starts_with("matrix-vector"));  // nothing that is consecutive is a row
  CHECK_FALSE(explained("aibj", "aidk", "dkbj").starts_with("matrix-vector"));
}

TEST_CASE("real numbers agree with the reference to rounding") {
  CountingResource workspace;
  auto reference = make_kernels("reference", workspace);
  auto kernels = make_kernels("auto", workspace);
  for (std::int64_t i = 0; i < rounds(); ++i) {
    const std::uint64_t seed = base_seed() + 200000 + static_cast<std::uint64_t>(i);
    Case c = make_case(seed, true);
    const auto want = outcome(*reference, c, true), got = outcome(*kernels, c, false);
    double worst = 0;
    for (std::size_t k = 0; k < want.size(); ++k)
      if (!std::isnan(want[k]) || !std::isnan(got[k])) worst = std::max(worst, std::abs(want[k] - got[k]));
    INFO("seed " << seed);
    REQUIRE(worst < 1e-11);
  }
}

TEST_CASE("workspace is what was announced") {
  class Measuring final : public BufferResource {
   public:
    double* allocate(std::int64_t n) override { return sizes.insert(n), new double[static_cast<std::size_t>(n) + 1]; }
    void deallocate(double* p, std::int64_t) noexcept override { delete[] p; }
    ResourceStats stats() const override { return {}; }
    std::multiset<std::int64_t> sizes;
  } workspace;
  for (const int threads : {1, 3}) {
    KernelOptions options;
    options.jit = false;
    options.threads = threads;
    auto kernels = make_kernels("auto", workspace, options);
    for (std::int64_t i = 0; i < case_count(400); ++i) {
      Case c = make_case(base_seed() + 300000 + static_cast<std::uint64_t>(i), false);
      c.alpha = 1.0;  // the BLAS way takes none when it is 0
      const BlockOp op = operation(c);
      std::int64_t announced = 0, taken = 0;
      for (const std::int64_t n : kernels->workspace(op)) announced += n;
      workspace.sizes.clear();
      kernels->run(op);
      for (const std::int64_t n : workspace.sizes) taken += n;
      INFO("seed offset " << i << ": " << kernels->explain(op));
      REQUIRE(taken <= announced);
      REQUIRE(announced <= taken * 3 + 4096);
    }
  }
}
