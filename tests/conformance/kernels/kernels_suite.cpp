// Every kernel implementation against a naive evaluator that knows only labels and positions: random ranks, label
// orders, extents (0 and 1 included), strided views, and the special cases of alpha and beta.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"
#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/cases.h"

using namespace sial;
using namespace sial::kernel_cases;

namespace {

std::map<int, std::int64_t> pick(const std::map<int, std::int64_t>& extents, const std::vector<int>& labels) {
  std::map<int, std::int64_t> r;
  for (int l : labels) r[l] = extents.at(l);
  return r;
}

/// What memory of d must be afterwards. The old d is read only when beta is not 0.
std::vector<double> expected(const Operand& d, const Operand& a, const Operand* b, double alpha, double beta,
                             const std::map<int, std::int64_t>& extents, const std::vector<int>& free,
                             const std::vector<int>& summed) {
  std::vector<double> memory = d.memory;
  Generator::each(pick(extents, free), [&](const std::map<int, std::int64_t>& outer) {
    double sum = 0.0;
    Generator::each(pick(extents, summed), [&](const std::map<int, std::int64_t>& inner) {
      std::map<int, std::int64_t> position = outer;
      position.insert(inner.begin(), inner.end());
      const double x = a.memory[static_cast<std::size_t>(a.at(position))];
      sum += b ? x * b->memory[static_cast<std::size_t>(b->at(position))] : x;
    });
    double& to = memory[static_cast<std::size_t>(d.at(outer))];
    to = beta == 0.0 ? alpha * sum : alpha * sum + beta * to;
  });
  return memory;
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

int first_difference(const std::vector<double>& x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same(x[i], y[i])) return static_cast<int>(i);
  return -1;
}

/// The extent, or 1 where all of them would make more work than a case should be.
std::int64_t bounded(std::int64_t extent, std::int64_t& volume) {
  constexpr std::int64_t most = 20000;
  if (volume * extent > most) return 1;
  volume *= std::max<std::int64_t>(1, extent);
  return extent;
}

double pick_scale(Generator& g) {
  constexpr double values[] = {1.0, 1.0, 1.0, 0.0, -1.0, 2.0, -3.0, 0.5};
  return values[g.below(8)];
}

void contraction_case(Kernels& kernels, std::uint64_t seed) {
  Generator g(seed);
  const int n_summed = static_cast<int>(g.below(4));
  const int n_rows = static_cast<int>(g.below(max_rank - n_summed + 1));
  const int n_columns = static_cast<int>(g.below(std::min(max_rank - n_summed, max_rank - n_rows) + 1));
  std::map<int, std::int64_t> extents;
  std::vector<int> rows, columns, summed;
  std::int64_t volume = 1;
  for (int i = 0; i < n_rows + n_columns + n_summed; ++i) {
    const int label = 100 + 7 * i;
    extents[label] = bounded(g.extent(), volume);
    (i < n_rows ? rows : i < n_rows + n_columns ? columns : summed).push_back(label);
  }
  auto join = [](std::vector<int> x, const std::vector<int>& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
  };
  // Half of the cases keep the groups together, so that the paths without packing are met as well.
  auto order = [&](std::vector<int> v) { return g.chance(50) ? g.shuffled(std::move(v)) : v; };
  const std::vector<int> free = join(rows, columns);
  Operand a = g.operand(order(g.chance(50) ? join(rows, summed) : join(summed, rows)), extents);
  Operand b = g.operand(order(g.chance(50) ? join(summed, columns) : join(columns, summed)), extents);
  Operand d = g.operand(order(g.chance(50) ? free : join(columns, rows)), extents);
  const double alpha = pick_scale(g), beta = pick_scale(g);
  if (beta == 0.0 && g.chance(60)) Generator::fill(d, [] { return std::numeric_limits<double>::quiet_NaN(); });
  if (g.chance(5) && !a.memory.empty())
    Generator::fill(a, [&] { return g.chance(20) ? std::numeric_limits<double>::quiet_NaN() : g.value(); });

  const auto want = expected(d, a, &b, alpha, beta, extents, free, summed);
  BlockOp op;
  op.d = d.view<double>();
  op.a = a.view<const double>();
  op.b = b.view<const double>();
  op.has_b = true;
  op.alpha = alpha;
  op.beta = beta;
  kernels.run(op);
  INFO(kernels.name() << " seed " << seed << " alpha " << alpha << " beta " << beta);
  REQUIRE(first_difference(want, d.memory) == -1);
}

void copy_case(Kernels& kernels, std::uint64_t seed) {
  Generator g(seed);
  std::map<int, std::int64_t> extents;
  std::vector<int> labels;
  const int rank = static_cast<int>(g.below(max_rank + 1));
  std::int64_t volume = 1;
  for (int i = 0; i < rank; ++i) {
    labels.push_back(10 - i);
    // Low ranks also with extents that do not fit the tiles of a blocked transposition.
    extents[10 - i] = rank <= 2 && g.chance(50) ? 20 + g.below(60) : bounded(g.extent(), volume);
  }
  Operand a = g.operand(g.shuffled(labels), extents);
  Operand d = g.operand(g.shuffled(labels), extents);
  const double alpha = pick_scale(g), beta = pick_scale(g);
  if (beta == 0.0) Generator::fill(d, [] { return std::numeric_limits<double>::quiet_NaN(); });
  const auto want = expected(d, a, nullptr, alpha, beta, extents, labels, {});
  BlockOp op;
  op.d = d.view<double>();
  op.a = a.view<const double>();
  op.alpha = alpha;
  op.beta = beta;
  kernels.run(op);
  INFO(kernels.name() << " seed " << seed << " alpha " << alpha << " beta " << beta);
  REQUIRE(first_difference(want, d.memory) == -1);
}

void dot_case(Kernels& kernels, std::uint64_t seed) {
  Generator g(seed);
  std::map<int, std::int64_t> extents;
  std::vector<int> labels;
  const int rank = static_cast<int>(g.below(max_rank + 1));
  std::int64_t volume = 1;
  for (int i = 0; i < rank; ++i) {
    labels.push_back(i + 1);
    extents[i + 1] = rank <= 2 && g.chance(50) ? 20 + g.below(60) : bounded(g.extent(), volume);
  }
  Operand a = g.operand(g.shuffled(labels), extents);
  Operand b = g.operand(g.shuffled(labels), extents);
  double want = 0.0;
  Generator::each(extents, [&](const std::map<int, std::int64_t>& p) {
    want += a.memory[static_cast<std::size_t>(a.at(p))] * b.memory[static_cast<std::size_t>(b.at(p))];
  });
  INFO(kernels.name() << " seed " << seed);
  REQUIRE(kernels.dot(a.view<const double>(), b.view<const double>()) == want);
}

}  // namespace

TEST_CASE("kernels agree with a naive evaluation of the labels") {
  const std::string name = GENERATE(as<std::string>(), "reference", "blas", "auto");
  CountingResource workspace;
  auto kernels = make_kernels(name, workspace);
  CHECK(std::string(kernels->name()) == name);
  const std::uint64_t seed = base_seed();
  WARN(name << ": SIALX_SEED=" << seed);
  for (std::int64_t i = 0; i < case_count(12000); ++i) contraction_case(*kernels, seed + i);
  for (std::int64_t i = 0; i < case_count(4500); ++i) copy_case(*kernels, seed + i);
  for (std::int64_t i = 0; i < case_count(4500); ++i) dot_case(*kernels, seed + i);
  CHECK(workspace.stats().bytes_in_use == 0);
}

TEST_CASE("operands that are matrices already are not packed") {
  CountingResource workspace;
  auto kernels = make_kernels("blas", workspace);
  auto shape = [](std::int64_t m, std::int64_t n, std::int64_t o) {
    Shape s;
    s.rank = 3;
    s.extent = {m, n, o, 1, 1, 1, 1, 1};
    return s;
  };
  // d[i,j,a] = x[i,j,k] y[k,a] and its transposed storages
  std::vector<double> x(6 * 5 * 4, 1.0), y(4 * 7, 2.0), d(6 * 5 * 7, 0.0);
  Shape ys;
  ys.rank = 2;
  ys.extent = {4, 7, 1, 1, 1, 1, 1, 1};
  BlockOp op;
  op.has_b = true;
  op.a = dense_view<const double>(x.data(), shape(6, 5, 4), {1, 2, 9});
  op.b = dense_view<const double>(y.data(), ys, {9, 3});
  op.d = dense_view<double>(d.data(), shape(6, 5, 7), {1, 2, 3});
  kernels->run(op);
  op.d = dense_view<double>(d.data(), shape(7, 6, 5), {3, 1, 2});
  kernels->run(op);
  op.a = dense_view<const double>(x.data(), shape(4, 6, 5), {9, 1, 2});
  kernels->run(op);
  CHECK(d == std::vector<double>(6 * 5 * 7, 8.0));
  CHECK(workspace.stats().requests == 0);
  // the summed label in the middle cannot be seen as a matrix
  op.a = dense_view<const double>(x.data(), shape(6, 4, 5), {1, 9, 2});
  kernels->run(op);
  CHECK(d == std::vector<double>(6 * 5 * 7, 8.0));
  CHECK(workspace.stats().requests == 1);
}

TEST_CASE("inner products have the same bits on every processor") {
  std::vector<kernels::InnerCode> codes{kernels::builtin_inner(kernels::processor_facts())};
  if (kernels::processor_runs("x86-64-v3")) codes.push_back(kernels::builtin_inner(kernels::cpu_facts("x86-64-v3")));
  std::mt19937_64 random(base_seed());
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  for (std::int64_t n = 0; n < 200; ++n) {
    std::vector<double> x(static_cast<std::size_t>(n)), y(x.size());
    double exact = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = number(random), y[i] = number(random), exact += x[i] * y[i];
    INFO(n << " elements");
    for (const kernels::InnerCode code : codes) {
      const double got = code(x.data(), y.data(), n);
      REQUIRE(got == kernels::inner_portable(x.data(), y.data(), n));
      REQUIRE(std::abs(got - exact) < 1e-12);
    }
  }
}

TEST_CASE("unknown kernels are refused with the known ones") {
  CountingResource workspace;
  try {
    make_kernels("fast", workspace);
    FAIL("no error");
  } catch (const SialError& e) {
    CHECK(std::string(e.what()).find("fast") != std::string::npos);
    CHECK(e.hint().find("reference") != std::string::npos);
  }
}

TEST_CASE("the BLAS in use is named") {
  const std::string text = prepare_blas();
  WARN(text);
  CHECK(text.rfind("BLAS: ", 0) == 0);
  // a second call must leave the library usable
  prepare_blas();
  CountingResource workspace;
  auto kernels = make_kernels("blas", workspace);
  for (std::uint64_t i = 0; i < 200; ++i) contraction_case(*kernels, 77 + i);
}

TEST_CASE("kernels agree with a naive evaluation on seven and eight dimensions") {
  const std::string name = GENERATE(as<std::string>(), "reference", "blas", "auto");
  CountingResource workspace;
  auto kernels = make_kernels(name, workspace);
  const std::uint64_t seed = base_seed();
  const auto check = [&](Generator& g, const std::vector<int>& of_d, const std::vector<int>& of_a,
                         const std::vector<int>* of_b, const std::vector<int>& free, const std::vector<int>& summed) {
    std::map<int, std::int64_t> extents;
    for (const int label : free) extents[label] = 1 + g.below(3);
    for (const int label : summed) extents[label] = 1 + g.below(3);
    Operand d = g.operand(g.shuffled(of_d), extents), a = g.operand(g.shuffled(of_a), extents);
    std::optional<Operand> b;
    if (of_b) b = g.operand(g.shuffled(*of_b), extents);
    const double alpha = pick_scale(g), beta = pick_scale(g);
    const auto want = expected(d, a, b ? &*b : nullptr, alpha, beta, extents, free, summed);
    BlockOp op;
    op.d = d.view<double>();
    op.a = a.view<const double>();
    op.has_b = b.has_value();
    if (b) op.b = b->view<const double>();
    op.alpha = alpha;
    op.beta = beta;
    kernels->run(op);
    INFO(name << " alpha " << alpha << " beta " << beta << " labels " << of_d.size() << " " << of_a.size());
    REQUIRE(first_difference(want, d.memory) == -1);
  };
  const auto range = [](int from, int to) {
    std::vector<int> labels;
    for (int label = from; label < to; ++label) labels.push_back(label);
    return labels;
  };
  const auto join = [](std::vector<int> x, const std::vector<int>& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
  };
  for (int rank = 7; rank <= max_rank; ++rank)
    for (std::uint64_t i = 0; i < 12; ++i) {
      Generator g(seed + i + 1000 * static_cast<std::uint64_t>(rank));
      const std::vector<int> free = range(0, rank);
      check(g, free, free, nullptr, free, {});  // a permutation
      for (int left = 1; left < rank; ++left) {
        const std::vector<int> rows = range(0, left), columns = range(left, rank);
        check(g, free, rows, &columns, free, {});  // an outer product
        const std::vector<int> b = join(columns, {100});
        check(g, free, join(rows, {100}), &b, free, {100});  // a result of this many dimensions
        const std::vector<int> all = join(columns, rows);
        check(g, rows, all, &columns, rows, columns);  // operands of this many
      }
    }
  CHECK(workspace.stats().bytes_in_use == 0);
}
