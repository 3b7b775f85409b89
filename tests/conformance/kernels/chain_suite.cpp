// One pass over a chain of element-wise steps against the same steps taken one after the other over the whole block:
// every bit, with NaN, infinities, denormals and signed zeros among the elements, extents of 0, 1 and primes, sources
// in every order, parts of larger arrays, and the target itself among the sources. Margins around the target must stay
// as they are.
#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/random_blocks.h"

using namespace sial;
using namespace sial::kernels;

namespace {

/// Equal bits; any NaN is as good as another, since which of two NaN an addition hands on is the processor's choice.
bool same(double x, double y) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
}

constexpr double odd_numbers[] = {0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::denorm_min(),
                                  1e-310,
                                  -1e-310,
                                  1e308};

/// A block with memory around it, dense or a part of a larger array, its dimensions in any order.
struct Operand {
  std::vector<double> memory;
  MutableView view;

  Operand(Numbers& numbers, int rank, const std::array<std::int64_t, max_rank>& extent, bool permuted, bool part) {
    std::array<int, max_rank> order{0, 1, 2, 3, 4, 5, 6, 7};
    if (permuted)
      for (int d = rank - 1; d > 0; --d) std::swap(order[d], order[numbers.below(d + 1)]);
    Extents margin{};
    for (int d = 0; d < rank && part; ++d) margin[d] = 1 + numbers.below(3);
    memory.resize(static_cast<std::size_t>(lay_out(view, rank, extent, order, margin)) + 64);
    for (double& x : memory) x = numbers();
    view.data = memory.data() + 32;
  }
  ConstView read() const { return as_const(view); }
};

/// f(offsets in the target and in up to two sources, position in the order of a dense target)
template <class F>
void each(const MutableView& t, const FusedStep& s, F f) {
  std::array<std::int64_t, max_rank> at{};
  std::int64_t position = 0;
  for (int d = 0; d < t.rank; ++d)
    if (t.extent[d] == 0) return;
  for (;;) {
    std::int64_t o = 0, a = 0, b = 0;
    for (int d = 0; d < t.rank; ++d) o += at[d] * t.stride[d], a += at[d] * s.a.stride[d], b += at[d] * s.b.stride[d];
    f(o, a, b, at);
    ++position;
    int d = 0;
    for (; d < t.rank && ++at[d] == t.extent[d]; ++d) at[d] = 0;
    if (d == t.rank) return;
  }
}

/// One step on the whole block; false when it divides by zero.
bool alone(const MutableView& t, const FusedStep& s) {
  bool good = true;
  each(t, s, [&](std::int64_t o, std::int64_t a, std::int64_t b, const auto& at) {
    double& x = t.data[o];
    volatile double product = 0.0;  // never contracted
    switch (s.op) {
      case FusedOp::fill: x = s.value; break;
      case FusedOp::add_scalar: x += s.value; break;
      case FusedOp::scale: x *= s.value; break;
      case FusedOp::copy: x = s.a.data[a]; break;
      case FusedOp::scaled_copy: x = s.value * s.a.data[a]; break;
      case FusedOp::accumulate:
        product = s.value * s.a.data[a];
        x = product + x;
        break;
      case FusedOp::sum:
        product = s.value * s.b.data[b];
        x = s.a.data[a] + product;
        break;
      case FusedOp::divide:
      case FusedOp::multiply: {
        double difference = s.energies->shift;
        for (int d = 0; d < t.rank; d += 2)
          difference += s.energies->energy[d + 1][at[d + 1]] - s.energies->energy[d][at[d]];
        if (s.op == FusedOp::multiply) x *= difference;
        else if (difference != 0.0) x /= difference;
        else if (x != 0.0) good = false;
      }
    }
  });
  return good;
}

struct Case {
  int rank = 0;
  std::array<std::int64_t, max_rank> extent = unit_extents;
  bool special = false, differences = false;
};

Case random_case(Numbers& numbers) {
  static constexpr std::int64_t few[] = {0, 1, 1, 2, 3, 5, 7, 8, 11, 12, 13, 14, 15, 16, 17, 25};
  Case c;
  c.rank = static_cast<int>(numbers.below(max_rank + 1));
  c.special = numbers.below(2) == 0;
  c.differences = c.rank > 0 && c.rank % 2 == 0 && c.rank <= 2 * FusedTile::sources_per_step && numbers.below(3) == 0;
  std::int64_t volume = 1;
  for (int d = 0; d < c.rank; ++d) {
    std::int64_t n = few[numbers.below(std::size(few))];
    if (n == 0 && numbers.below(8) > 0) n = 4;
    if (c.rank < 3 && numbers.below(4) == 0) n = 97 + numbers.below(200);
    if (volume * n > 9000) n = 1;
    volume *= std::max<std::int64_t>(1, n);
    c.extent[d] = n;
  }
  return c;
}

void run_case(std::uint32_t seed, FusedRunner& runner) {
  CAPTURE(seed);
  Numbers choose(seed);
  const Case c = random_case(choose);
  Numbers numbers(seed + 1, c.special ? std::span(odd_numbers) : std::span<const double>());
  Operand target(numbers, c.rank, c.extent, false, !c.differences && choose.below(4) == 0);
  std::vector<Operand> sources;
  for (int k = 0; k < 4; ++k)
    sources.emplace_back(numbers, c.rank, c.extent, choose.below(2) == 0, choose.below(4) == 0);
  std::vector<EnergyDifferences> energies(2);
  for (EnergyDifferences& e : energies) {
    e.rank = c.rank;
    e.shift = choose.below(2) == 0 ? 0.0 : numbers();
    for (int d = 0; d < c.rank; ++d)
      for (std::int64_t p = 0; p < c.extent[d]; ++p)  // whole numbers at times, so that some differences are zero
        e.energy[d].push_back(choose.below(2) == 0 && choose.below(3) > 0 ? std::round(numbers() + (d % 2 ? 1.0 : -1.0))
                                                                          : numbers() + (d % 2 ? 20.0 : -20.0));
  }
  std::vector<FusedStep> steps;
  const auto n = 1 + choose.below(6);
  for (std::int64_t k = 0; k < n; ++k) {
    FusedStep s;
    s.op = static_cast<FusedOp>(choose.below(c.differences ? 9 : 7));
    s.value = choose.below(3) == 0 ? (choose.below(2) == 0 ? 1.0 : -1.0) : numbers();
    const auto source = [&](FusedSource& to) {
      const std::int64_t which = choose.below(5);
      REQUIRE(
          fused_source(target.view, which == 4 ? target.read() : sources[static_cast<std::size_t>(which)].read(), to));
    };
    if (s.op == FusedOp::copy || s.op == FusedOp::scaled_copy || s.op == FusedOp::accumulate || s.op == FusedOp::sum)
      source(s.a);
    if (s.op == FusedOp::sum) {
      s.value = choose.below(2) == 0 ? 1.0 : -1.0;
      source(s.b);
    }
    if (s.op == FusedOp::divide || s.op == FusedOp::multiply)
      s.energies = &energies[static_cast<std::size_t>(choose.below(2))];
    steps.push_back(s);
  }
  const std::vector<double> before = target.memory;
  std::ptrdiff_t failed = FusedRunner::none;
  for (std::size_t k = 0; k < steps.size() && failed == FusedRunner::none; ++k)
    if (!alone(target.view, steps[k])) failed = static_cast<std::ptrdiff_t>(k);
  const std::vector<double> expected = target.memory;
  target.memory = before;  // the same memory, so that steps on the target itself mean the same
  const std::ptrdiff_t found = runner.run(target.view, steps);
  REQUIRE(found == failed);
  if (failed != FusedRunner::none) return;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same(expected[i], target.memory[i]))
      FAIL("element " << i << ": " << target.memory[i] << " instead of " << expected[i]);
}

/// By parts wherever orders differ; the latter with small boxes.
constexpr FusedLimits any_sources{.bytes_for_parts = 1, .parts_for_any_sources = true}, small_boxes{1, 600, true};

}  // namespace

TEST_CASE("random chains have the bits of their steps one after the other") {
  std::vector<std::shared_ptr<CodeEngine>> engines;
  std::vector<std::unique_ptr<FusedRunner>> runners;
  for (const std::string cpu : {"", "x86-64-v3", "x86-64-v2"}) {
    if (!cpu.empty() && !processor_runs(cpu)) continue;
    engines.push_back(make_code_engine({false, true, cpu, ""}));  // never has code
    for (const FusedLimits limits : {FusedLimits{}, FusedLimits{1}, any_sources, small_boxes})
      runners.push_back(std::make_unique<FusedRunner>(engines.back().get(), limits));
  }
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(12000); ++seed)
    run_case(7 * seed, *runners[seed % runners.size()]);
}

TEST_CASE("generated code for random chains has the same bits, for every kind of processor") {
  for (const std::string cpu : {"", "x86-64-v3", "x86-64-v2"}) {
    CAPTURE(cpu);
    if (!cpu.empty() && !processor_runs(cpu)) continue;
    const auto engine = make_code_engine({true, true, cpu, ""});
    FusedRunner runner(engine.get()), whole(engine.get(), any_sources), boxes(engine.get(), small_boxes);
    const std::int64_t chains = kernel_cases::case_count(150);
    for (std::uint32_t seed = 0; seed < chains; ++seed)
      run_case(11 * seed, seed % 3 == 0 ? runner : seed % 3 == 1 ? whole : boxes);
    if (engine->stats().state == "on") CHECK(engine->stats().compiled > chains * 2 / 3);
  }
}

TEST_CASE("rows and squares of every extent have the bits of their steps, whatever the processor") {
  for (const auto& [cpu, generated] : std::vector<std::pair<std::string, bool>>{{"", true},
                                                                                {"", false},
                                                                                {"x86-64-v3", true},
                                                                                {"x86-64-v3", false},
                                                                                {"x86-64-v2", true},
                                                                                {"x86-64-v2", false}}) {
    CAPTURE(cpu, generated);
    if (!cpu.empty() && (test_level::is_gate() || !processor_runs(cpu))) continue;
    const auto engine = make_code_engine({generated, true, cpu, ""});
    FusedRunner runner(engine.get()), by_parts(engine.get(), any_sources);
    Numbers numbers(5, odd_numbers);
    const auto check = [&](const std::array<std::int64_t, max_rank>& extent, const std::vector<int>& order) {
      CAPTURE(extent);
      Operand target(numbers, 3, extent, false, true), source(numbers, 3, extent, false, true);
      MutableView transposed;
      std::array<int, max_rank> of_source{};
      std::copy(order.begin(), order.end(), of_source.begin());
      std::vector<double> memory(static_cast<std::size_t>(lay_out(transposed, 3, extent, of_source, {})));
      for (double& x : memory) x = numbers();
      transposed.data = memory.data();
      std::vector<FusedStep> steps(3);
      // What is done twice shows in targets that are read; others are assembled.
      steps[0].op = (extent[0] + extent[1]) % 2 == 0 ? FusedOp::accumulate : FusedOp::scaled_copy;
      steps[0].value = 0.5;
      steps[1].op = FusedOp::accumulate;
      steps[1].value = -3.0;
      steps[2].op = FusedOp::scale;
      steps[2].value = 1.25;
      REQUIRE(fused_source(target.view, as_const(transposed), steps[0].a));
      REQUIRE(fused_source(target.view, source.read(), steps[1].a));
      const std::vector<double> before = target.memory;
      for (const FusedStep& s : steps) REQUIRE(alone(target.view, s));
      const std::vector<double> expected = target.memory;
      for (FusedRunner* one : {&runner, &by_parts}) {
        target.memory = before;
        REQUIRE(one->run(target.view, steps) == FusedRunner::none);
        REQUIRE(std::equal(expected.begin(), expected.end(), target.memory.begin(), same));
      }
    };
    for (std::int64_t n = 1; n <= 34; ++n) {
      check({n, 3, 5, 1, 1, 1}, {0, 2, 1});
      for (std::int64_t m = 1; m <= 18; ++m) check({n, m, 2, 1, 1, 1}, {1, 0, 2});
    }
  }
}

TEST_CASE("squares that reach back divide nothing twice") {
  // After a first division by 1 and the addition of 1 nothing is zero any more: where the difference is zero, only what
  // was zero at first may pass.
  for (const std::int64_t n : {9, 12, 13, 17, 23}) {
    CAPTURE(n);
    std::vector<double> t(static_cast<std::size_t>(n * n), -1.0), source(t.size(), 1.0);
    MutableView view;
    view.data = t.data();
    view.rank = 2;
    view.extent = {n, n, 1, 1, 1, 1, 1, 1};
    view.stride = {1, n, 0, 0, 0, 0};
    view.label = {0, 1, 0, 0, 0, 0};
    ConstView transposed = as_const(view);
    transposed.data = source.data();
    transposed.label = {1, 0, 0, 0, 0, 0};
    EnergyDifferences zero;
    zero.rank = 2;
    zero.energy[0].assign(static_cast<std::size_t>(n), 0.5);
    zero.energy[1] = zero.energy[0];
    std::vector<FusedStep> steps(2);
    steps[0].op = FusedOp::accumulate;
    steps[0].value = 1.0;
    REQUIRE(fused_source(view, transposed, steps[0].a));
    steps[1].op = FusedOp::divide;
    steps[1].energies = &zero;
    const auto engine = make_code_engine({true, true, "", ""});
    FusedRunner runner(engine.get());
    CHECK(runner.run(view, steps) == FusedRunner::none);
    CHECK(std::all_of(t.begin(), t.end(), [](double x) { return x == 0.0; }));
    t.back() = 5.0;
    t.front() = -1.0;
    CHECK(runner.run(view, steps) == 1);
  }
}

TEST_CASE("chains that look alike but for the number of their sources are done each in its own way") {
  // A division of rank 4 on a block of one row has a second table, whose strides read like two more steps of a division
  // of rank 2.
  constexpr std::int64_t n = 4;
  std::vector<double> t(n);
  EnergyDifferences two, four;
  two.rank = 2;
  four.rank = 4;
  for (int d = 0; d < 4; ++d) {
    const std::vector<double> energies(d == 0 ? n : 1, d % 2 == 0 ? 0.0 : 1.0);
    four.energy[d] = energies;
    if (d < 2) two.energy[d] = energies;
  }
  MutableView view;
  view.data = t.data();
  view.extent = {n, 1, 1, 1, 1, 1, 1, 1};
  view.stride = {1, n, n, n, 0, 0};
  view.label = {0, 1, 2, 3, 0, 0};
  const FusedStep by_two{FusedOp::divide, 0.0, {}, {}, &two}, by_four{FusedOp::divide, 0.0, {}, {}, &four},
      seven{FusedOp::fill, 7.0, {}, {}, nullptr};
  for (const bool longer_first : {true, false}) {
    FusedRunner runner;
    for (const bool longer : {longer_first, !longer_first}) {
      t.assign(n, 8.0);
      view.rank = longer ? 2 : 4;
      CHECK(runner.run(view, longer ? std::vector{by_two, seven, seven} : std::vector{by_four}) == FusedRunner::none);
      CHECK(t == std::vector<double>(n, longer ? 7.0 : 4.0));
    }
  }
}

TEST_CASE("a chain of nothing, and on nothing") {
  FusedRunner runner;
  double x = 1.0;
  MutableView t;
  t.data = &x;
  CHECK(runner.run(t, {}) == FusedRunner::none);
  CHECK(runner.run(t, {{FusedOp::scale, 3.0, {}, {}, nullptr}, {FusedOp::add_scalar, 0.5, {}, {}, nullptr}}) ==
        FusedRunner::none);
  CHECK(x == 3.5);
  t.rank = 1;
  t.extent[0] = 0;
  CHECK(runner.run(t, {{FusedOp::fill, 3.0, {}, {}, nullptr}}) == FusedRunner::none);
  CHECK(x == 3.5);
}

TEST_CASE("the first step that divides by zero is named, wherever its element is") {
  // The second step meets its zero in the first box, the first one in the last.
  const std::int64_t n = 100;
  std::vector<double> t(static_cast<std::size_t>(n * n), 1.0);
  EnergyDifferences late, early;
  for (EnergyDifferences* e : {&late, &early}) {
    e->rank = 2;
    e->energy[0].assign(n, 0.0);
    e->energy[1].assign(n, 1.0);
  }
  late.energy[1].back() = 0.0;
  early.energy[1].front() = 0.0;
  MutableView view;
  view.data = t.data();
  view.rank = 2;
  view.extent = {n, n, 1, 1, 1, 1, 1, 1};
  view.stride = {1, n, 0, 0, 0, 0};
  view.label = {0, 1, 0, 0, 0, 0};
  FusedRunner runner;
  FusedStep first{FusedOp::divide, 0.0, {}, {}, &late}, second{FusedOp::divide, 0.0, {}, {}, &early};
  CHECK(runner.run(view, {first, second}) == 0);
  t.assign(t.size(), 1.0);
  CHECK(runner.run(view, {second, first}) == 0);
  std::fill(t.end() - n, t.end(), 0.0);
  std::fill(t.begin(), t.end() - n, 1.0);
  CHECK(runner.run(view, {first, second}) == 1);
  t.assign(t.size(), 0.0);  // nothing is divided by zero but zero
  CHECK(runner.run(view, {first, second}) == FusedRunner::none);
}

TEST_CASE("keys of chains say what they were made of, and others are refused") {
  const std::vector<FusedCodeStep> steps = {
      {FusedOp::sum, {SourceForm::along, SourceForm::across}},
      {FusedOp::divide, {SourceForm::along, SourceForm::same, SourceForm::spread}},
      {FusedOp::accumulate, {SourceForm::self}},
      {FusedOp::scale, {}}};
  const CodeKey key = fused_key(steps, false);
  CHECK(is_fused_key(key));
  for (std::size_t k = 0; k < steps.size(); ++k) {
    CHECK(fused_step_of(key, static_cast<int>(k)).op == steps[k].op);
    CHECK(fused_step_of(key, static_cast<int>(k)).form == steps[k].form);
  }
  for (const std::int32_t first : {-1, 0, 9}) {
    CodeKey other = key;
    other.p[0] = first;
    CHECK_FALSE(is_fused_key(other));
  }
  CHECK_FALSE(fused_fetches(key));
  CodeKey fetching = fused_key(steps, true);
  CHECK(is_fused_key(fetching));
  CHECK(fused_fetches(fetching));
  fetching.p[9] = 2;
  CHECK_FALSE(is_fused_key(fetching));
  for (const FusedCodeStep& bad : {FusedCodeStep{FusedOp::copy, {}}, FusedCodeStep{FusedOp::fill, {SourceForm::along}},
                                   FusedCodeStep{FusedOp::sum, {SourceForm::along}}, FusedCodeStep{FusedOp::divide, {}},
                                   FusedCodeStep{FusedOp::copy, {SourceForm::absent, SourceForm::along}}})
    CHECK_FALSE(is_fused_key(fused_key(std::vector<FusedCodeStep>{bad}, false)));
}

TEST_CASE(
    "what is needed next is fetched where operands lie in different orders and no cache holds them, and targets that are not read are assembled aside") {
  constexpr std::int64_t n = 12, elements = n * n * n;
  std::vector<double> target(elements), source(elements, 1.0);
  MutableView t;
  t.rank = 3;
  t.data = target.data();
  t.label = {0, 1, 2};
  t.extent = {n, n, n};
  t.stride = {1, n, n * n};
  const ConstView straight{source.data(), t.rank, t.extent, t.stride, t.label};
  ConstView transposed = straight;
  transposed.label = {2, 1, 0};
  const auto by_parts = [&](const MutableView& to, const ConstView& from, std::int64_t bytes) {
    FusedRunner runner(nullptr, {bytes});
    FusedStep step{FusedOp::copy, 1.0, {}, {}, nullptr};
    REQUIRE(fused_source(to, from, step.a));
    REQUIRE(runner.run(to, {step}) == FusedRunner::none);
    CHECK(runner.aside() == runner.by_parts());
    const bool copied = runner.by_parts();
    step.op = FusedOp::accumulate;  // reads the target
    REQUIRE(runner.run(to, {step}) == FusedRunner::none);
    CHECK_FALSE(runner.aside());
    CHECK(runner.by_parts() == copied);
    return copied;
  };
  constexpr std::int64_t all = 2 * elements * 8;
  CHECK(by_parts(t, transposed, all));
  CHECK_FALSE(by_parts(t, transposed, all + 1));
  CHECK_FALSE(by_parts(t, transposed, 0));  // any last-level cache holds them
  CHECK_FALSE(by_parts(t, straight, all));
  MutableView part = t;  // every other element: there are no lines to write
  part.extent = {n / 2, n, n};
  part.stride[0] = 2;
  transposed.extent = {n, n, n / 2};
  CHECK_FALSE(by_parts(part, transposed, 1));
}

TEST_CASE(
    "chains go by parts for one or two sources in other orders, not beside one in the target's order, unless lines are crowded or a small matrix is transposed") {
  // Dimensions in the order of each source's memory.
  const auto by_parts = [](const std::array<std::int64_t, 3>& extent, const std::vector<std::array<int, 3>>& orders,
                           bool any = false) {
    const std::int64_t elements = extent[0] * extent[1] * extent[2];
    std::vector<std::vector<double>> memory(orders.size() + 1,
                                            std::vector<double>(static_cast<std::size_t>(elements), 1.0));
    const auto view = [&](auto& of, const std::array<int, 3>& order, std::size_t k) {
      of.rank = 3;
      of.data = memory[k].data();
      std::int64_t stride = 1;
      for (std::size_t d = 0; d < 3; ++d) {
        of.label[d] = order[d];
        of.extent[d] = extent[static_cast<std::size_t>(order[d])];
        of.stride[d] = stride;
        stride *= of.extent[d];
      }
    };
    MutableView target;
    view(target, {0, 1, 2}, 0);
    std::vector<FusedStep> steps;
    for (std::size_t k = 0; k < orders.size(); ++k) {
      ConstView source;
      view(source, orders[k], k + 1);
      steps.push_back({k == 0 ? FusedOp::copy : FusedOp::accumulate, 1.0, {}, {}, nullptr});
      REQUIRE(fused_source(target, source, steps.back().a));
    }
    FusedRunner runner(nullptr, any ? any_sources : FusedLimits{1});
    REQUIRE(runner.run(target, steps) == FusedRunner::none);
    CHECK(memory[0] == std::vector<double>(static_cast<std::size_t>(elements), static_cast<double>(orders.size())));
    return runner.by_parts();
  };
  constexpr std::array<std::int64_t, 3> odd = {13, 11, 9}, crowded = {13, 16, 16};
  CHECK(by_parts(odd, {{2, 1, 0}}));
  CHECK(by_parts(odd, {{2, 1, 0}, {1, 2, 0}}));
  CHECK_FALSE(by_parts(odd, {{2, 1, 0}, {0, 1, 2}}));
  CHECK_FALSE(by_parts(odd, {{2, 1, 0}, {1, 2, 0}, {0, 2, 1}}));
  CHECK(by_parts(odd, {{2, 1, 0}, {1, 2, 0}, {0, 2, 1}}, true));
  CHECK(by_parts(odd, {{1, 0, 2}, {0, 1, 2}}));                // a small matrix transposed
  CHECK_FALSE(by_parts({90, 80, 3}, {{1, 0, 2}, {0, 1, 2}}));  // a large one
  CHECK(by_parts(crowded, {{2, 1, 0}, {0, 1, 2}}));
  CHECK_FALSE(by_parts(odd, {{0, 1, 2}}, true));
}
