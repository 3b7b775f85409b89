// The constants of the model of contractions: whatever they are, results keep their bits and a BLAS runs for the same
// operations; measured ones change which strategy is chosen, and a fit finds those that explain times.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/kernels/contraction/contraction_calibration.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/contraction_cases.h"

using namespace sial;
using namespace sial::kernel_cases;
using namespace sial::kernels;

namespace {

/// Anything plausible, all fields.
ContractionCosts random_costs(int width, std::mt19937_64& random) {
  ContractionCosts costs = fixed_costs(width);
  std::uniform_real_distribution<double> exponent(-0.99, 0.99);
  costs.memory = 1e6;
  for (const CostField& field : cost_fields()) costs.*field.value *= std::pow(cost_range, exponent(random));
  REQUIRE(plausible(costs));
  return costs;
}

/// d[aibj] += a[aikc] b[cbkj] with random strides: some that are packed, some in place.
LoopSpace random_space(std::mt19937_64& random) {
  const auto draw = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  LoopSpace space;
  std::vector<std::pair<std::vector<LoopDim>*, std::int64_t>> dims;
  for (const auto group : {&space.rows, &space.columns, &space.summed})
    for (std::int64_t i = draw(3); i >= 0; --i) dims.emplace_back(group, 1 + draw(40));
  std::vector<LoopDim> loops(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) loops[i].extent = dims[i].second;
  const auto lay = [&](const std::vector<LoopDim>* without, std::int64_t LoopDim::* stride) {
    std::vector<std::size_t> order(dims.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::int64_t next = 1;
    for (const std::size_t i : order)
      if (dims[i].first != without) loops[i].*stride = next, next *= loops[i].extent;
  };
  lay(&space.summed, &LoopDim::d);
  lay(&space.columns, &LoopDim::a);
  lay(&space.rows, &LoopDim::b);
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i].first->push_back(loops[i]);
  return space;
}

const TileShape shapes[] = {{8, 3, 8, 6, 8}, {4, 3, 4, 0, 8}, {2, 3, 4, 0, 0}};

/// As if the model with these constants were the truth.
std::vector<MeasuredContraction> imagined(const ContractionTarget& target, const ContractionCosts& truth, int count,
                                          std::mt19937_64& random) {
  std::vector<MeasuredContraction> all;
  const ContractionCosts usual = usual_costs(target.shape.width);
  while (static_cast<int>(all.size()) < count) {
    MeasuredContraction contraction;
    for (ContractionChoice& choice : contraction_choices(random_space(random), target.shape, true, 512, &usual)) {
      const double seconds = estimated_cycles(choice.plan, target, truth) / 3e9;
      if (choice.plan.strategy != Strategy::blas) contraction.strategies.push_back({std::move(choice.plan), seconds});
    }
    if (contraction.strategies.size() > 1) all.push_back(std::move(contraction));
  }
  return all;
}

}  // namespace

TEST_CASE("no constant of the model changes a bit of a result") {
  CountingResource workspace;
  for (const std::string cpu : {"", "x86-64-v3", "x86-64-v2"}) {
    if (!cpu.empty() && !processor_runs(cpu)) continue;
    DYNAMIC_SECTION("processor `" << cpu << "`") {
      std::mt19937_64 random(base_seed());
      KernelOptions options;
      options.jit = false;
      options.jit_cpu = cpu;
      auto usual = make_kernels("auto", workspace, options);
      const int width = builtin_tiles(cpu_facts(cpu)).shape.width;
      std::vector<std::unique_ptr<Kernels>> others;
      for (int i = 0; i < 8; ++i) {
        options.costs = std::make_shared<ContractionCosts>(random_costs(width, random));
        options.threads = i % 4 == 3 ? 3 : 1;
        others.push_back(make_kernels("auto", workspace, options));
      }
      std::int64_t other_choices = 0, of_blas = 0;
      const std::int64_t rounds = case_count(400);
      for (std::int64_t i = 0; i < rounds; ++i) {
        const std::uint64_t seed = base_seed() + 900000 + static_cast<std::uint64_t>(i);
        Case c = make_case(seed, true, i % 8 == 6 ? Thin::outer : i % 8 == 7 ? Thin::vector : Thin::no);
        const BlockOp op = operation(c);
        const std::string chosen = usual->explain(op);
        const auto want = outcome(*usual, c, true);
        of_blas += chosen.starts_with("blas");
        for (const auto& other : others) {
          const std::string how = other->explain(op);
          INFO("seed " << seed << ", processor `" << cpu << "`: " << chosen << "; " << how);
          REQUIRE(how.starts_with("blas") == chosen.starts_with("blas"));
          other_choices += how.substr(0, how.find(':')) != chosen.substr(0, chosen.find(':'));
          REQUIRE(same_bits(want, outcome(*other, c, true)));
        }
      }
      if (of_blas < rounds / 2) CHECK(other_choices > rounds / 4);
    }
  }
}

TEST_CASE("threads give the bits of one with any constants") {
  CountingResource workspace;
  std::mt19937_64 random(base_seed());
  KernelOptions options;
  options.jit = false;
  auto usual = make_kernels("auto", workspace, options);
  options.threads = 3;
  Generator g(base_seed());
  const std::map<int, std::int64_t> extents{{0, 60}, {1, 31}, {2, 47}, {3, 23}, {4, 15}};
  for (int round = 0; round < 6; ++round) {
    options.costs = std::make_shared<ContractionCosts>(random_costs(builtin_target().shape.width, random));
    auto other = make_kernels("auto", workspace, options);
    Operand a = g.operand(g.shuffled({0, 1, 3, 4}), extents), b = g.operand(g.shuffled({3, 2, 4}), extents),
            d = g.operand(g.shuffled({0, 1, 2}), extents);
    for (Operand* o : {&a, &b, &d})
      Generator::fill(*o, [&] { return static_cast<double>(g.below(2000001) - 1000000) / 999983.0; });
    require_same_bits(*usual, *other, a, b, d);
  }
}

TEST_CASE("whether a BLAS runs, and where sums are cut, follows from fixed constants alone") {
  std::mt19937_64 random(base_seed());
  int blas = 0, tiles = 0;
  for (int i = 0; i < 300; ++i) {
    const LoopSpace space = random_space(random);
    for (const TileShape& shape : shapes)
      for (const bool fast : {true, false}) {
        const ContractionCosts fixed = fixed_costs(shape.width), other = random_costs(shape.width, random),
                               larger_caches = usual_costs(shape.width, {131072, 4 << 20});
        const auto by_fixed = contraction_choices(space, shape, fast, 512, &fixed);
        const bool is_blas = by_fixed.front().plan.strategy == Strategy::blas;
        ++(is_blas ? blas : tiles);
        const auto cheapest = std::min_element(by_fixed.begin(), by_fixed.end(), [](const auto& p, const auto& q) {
          return p.plan.cycles < q.plan.cycles;
        });
        CHECK(cheapest == by_fixed.begin());
        for (const ContractionCosts& costs : {other, larger_caches}) {
          const auto choices = contraction_choices(space, shape, fast, 512, &costs);
          REQUIRE((choices.front().plan.strategy == Strategy::blas) == is_blas);
          for (const auto& choice : choices) {
            REQUIRE(choice.plan.sum_block == by_fixed.front().plan.sum_block);
            const auto same =
                std::find_if(by_fixed.begin(), by_fixed.end(), [&](const auto& c) { return c.name == choice.name; });
            REQUIRE(same != by_fixed.end());
            REQUIRE(choice.plan.fixed_cycles == same->plan.cycles);
          }
        }
      }
  }
  CHECK(blas > 100);
  CHECK(tiles > 100);
}

TEST_CASE("measured constants change which strategy is chosen, those for other vectors do not") {
  const TileShape shape{8, 3, 8, 6, 8};
  // d[mn] = a[mk] b[kn]
  LoopSpace space;
  space.rows = {{200, 1, 1, 0}};
  space.columns = {{300, 200, 0, 100}};
  space.summed = {{100, 0, 200, 1}};
  ContractionCosts costs = fixed_costs(8);
  const std::string before = contraction_choices(space, shape, true, 512, &costs).front().name;
  CHECK(before.starts_with("packed"));
  costs.pack_rows_along *= 10, costs.rows_in_place /= 10;
  CHECK(contraction_choices(space, shape, true, 512, &costs).front().name.starts_with("rows in place"));
  costs.width = 4;
  CHECK(contraction_choices(space, shape, true, 512, &costs).front().name ==
        contraction_choices(space, shape, true, 512).front().name);
  // The same through the kernels that programs run with.
  CountingResource workspace;
  std::vector<double> a(200 * 100), b(100 * 300), d(200 * 300);
  BlockOp op;
  const auto matrix = [](double* data, std::int64_t rows, std::int64_t columns, std::int32_t row, std::int32_t column) {
    Shape s;
    s.rank = 2;
    s.extent[0] = rows, s.extent[1] = columns;
    return dense_view(data, s, {row, column});
  };
  op.has_b = true;
  op.d = matrix(d.data(), 200, 300, 0, 1), op.a = as_const(matrix(a.data(), 200, 100, 0, 2)),
  op.b = as_const(matrix(b.data(), 100, 300, 2, 1));
  KernelOptions options;
  options.jit = false;
  ContractionCosts own = fixed_costs(builtin_target().shape.width);
  options.costs = std::make_shared<ContractionCosts>(own);
  const auto fixed = make_kernels("auto", workspace, options);
  if (fixed->explain(op).starts_with("blas")) return;
  own.pack_rows_along *= 15, own.rows_in_place /= 15, own.rows_in_place_near /= 15;
  options.costs = std::make_shared<ContractionCosts>(own);
  const auto measured = make_kernels("auto", workspace, options);
  CHECK(fixed->explain(op).find("packed") != std::string::npos);
  CHECK(measured->explain(op).find("rows in place") != std::string::npos);
  CHECK(measured->cycles(op) == fixed->cycles(op));
}

TEST_CASE("limits follow the caches and are those of the fixed constants for 32 to 48 KiB and 1 MiB") {
  for (const int width : {2, 4, 8}) {
    const ContractionCosts fixed = fixed_costs(width), large = usual_costs(width, {49152, 2 << 20}),
                           unknown = usual_costs(width, {});
    for (const long first : {32768L, 49152L}) {
      const ContractionCosts usual = usual_costs(width, {first, 1 << 20});
      CHECK(usual == unknown);
      for (const auto limit :
           {&ContractionCosts::row_block, &ContractionCosts::column_block, &ContractionCosts::first_cache,
            &ContractionCosts::close, &ContractionCosts::near, &ContractionCosts::columns_near})
        CHECK(usual.*limit == fixed.*limit);
    }
    CHECK(large.row_block == 2 * fixed.row_block);
    CHECK(large.near == 2 * fixed.near);
    CHECK(usual_costs(width, {65536, 1 << 20}).first_cache == 2 * fixed.first_cache);
    CHECK(plausible(usual_costs(width, {1 << 30, 1 << 30})));
    CHECK(plausible(usual_costs(width, {1, 1})));
  }
}

TEST_CASE("constants that cannot be are told") {
  for (const CostField& field : cost_fields())
    for (const double factor : {0.0, -1.0, 1.01 * cost_range, 0.99 / cost_range,
                                std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      if (field.kind == CostKind::size && std::isfinite(factor) && factor > 0) continue;
      ContractionCosts costs = fixed_costs(8);
      costs.*field.value *= factor;
      INFO(field.name << " times " << factor);
      CHECK_FALSE(plausible(costs));
    }
  ContractionCosts costs = usual_costs(8);
  CHECK(costs_text(costs).empty());
  costs.scatter *= 2;
  CHECK(costs_text(costs).starts_with("scatter "));
}

TEST_CASE(
    "a fit finds constants with which the fastest strategies are chosen, and leaves the usual ones where they are right") {
  std::mt19937_64 random(base_seed());
  const ContractionTarget target{shapes[0], true, true};
  const ContractionCosts usual = usual_costs(8);
  const auto right = imagined(target, usual, 60, random);
  CHECK(regret_of(right, target, usual).mean == Approx(1.0));
  const ContractionCosts unchanged = fit_costs(right, target, usual);
  CHECK(unchanged == usual);
  ContractionCosts truth = usual;
  truth.pack_rows_along *= 4, truth.pack_rows_across *= 3, truth.rows_in_place /= 4, truth.scatter *= 3,
      truth.columns_in_place_lines *= 4;
  const auto other = imagined(target, truth, 120, random);
  const Regret before = regret_of(other, target, usual);
  CHECK(before.mean > 1.02);
  CHECK(before.worst > 1.2);
  const ContractionCosts fitted = fit_costs(other, target, usual);
  CHECK(plausible(fitted));
  const Regret after = regret_of(other, target, fitted);
  CHECK(std::log(after.mean) < 0.2 * std::log(before.mean));
  CHECK(fit_costs(other, target, usual) == fitted);
  // On operations that it has not seen.
  const auto unseen = imagined(target, truth, 120, random);
  CHECK(std::log(regret_of(unseen, target, fitted).mean) < 0.4 * std::log(regret_of(unseen, target, usual).mean));
  CHECK(fit_costs({}, target, usual) == usual);
}

TEST_CASE("contractions are measured with every strategy of equal bits") {
  CountingResource memory;
  const auto measured = measure_contractions(memory, 1e-5, 2e5);
  REQUIRE(measured.size() > 10);
  std::set<Strategy> strategies;
  for (const MeasuredContraction& contraction : measured) {
    CHECK(contraction.strategies.size() > 1);
    for (const auto& [plan, seconds] : contraction.strategies) {
      strategies.insert(plan.strategy);
      CHECK(seconds > 0);
      CHECK(seconds < 1);
    }
  }
  CHECK(strategies == std::set{Strategy::tiles, Strategy::outer, Strategy::vector});
  CHECK(memory.stats().bytes_in_use == 0);
}
