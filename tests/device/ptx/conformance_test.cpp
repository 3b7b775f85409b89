// Every kind of generated kernel, its PTX carried out by the interpreter, against the host: chains and batches of them
// leave the bits of FusedRunner, inner products those of the host's fallbacks, which add up in the same order, and the
// right number within a bound. Operands are registered from their first to their last element; what lies in gaps and
// around them is poison, NaN or infinity, and a target whose old values nobody needs is poison.

#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/device_cases.h"
#include "tests/device/ptx/runner.h"

using namespace sial;
using namespace sial::kernels;

namespace {

#define NEEDS_GENERATOR                               \
  if (!why_no_device_code().empty()) {                \
    WARN("no code generator in this build: skipped"); \
    return;                                           \
  }

template <class F>
void each_element(const MutableView& v, F&& f) {
  for (int d = 0; d < v.rank; ++d)
    if (v.extent[static_cast<std::size_t>(d)] == 0) return;
  Extents at{};
  for (;;) {
    std::int64_t o = 0;
    for (int d = 0; d < v.rank; ++d) o += at[static_cast<std::size_t>(d)] * v.stride[static_cast<std::size_t>(d)];
    f(v.data[o]);
    int d = 0;
    for (; d < v.rank && ++at[static_cast<std::size_t>(d)] == v.extent[static_cast<std::size_t>(d)]; ++d)
      at[static_cast<std::size_t>(d)] = 0;
    if (d == v.rank) return;
  }
}

double unused(std::uint32_t seed) {
  switch (seed % 3) {
    case 0: return std::bit_cast<double>(ptx::poison);
    case 1: return std::numeric_limits<double>::quiet_NaN();
    default: return std::numeric_limits<double>::infinity();
  }
}

/// Gaps and surroundings of an operand.
void fill_unused(DeviceOperand& operand, double with) {
  std::vector<double> values;
  each_element(operand.view, [&](double x) { values.push_back(x); });
  std::fill(operand.memory.begin(), operand.memory.end(), with);
  std::size_t k = 0;
  each_element(operand.view, [&](double& x) { x = values[k++]; });
}

bool reads_target(const ChainCase& chain) {
  const FusedStep& first = chain.steps.front();
  return !replaces_target(first.op) || first.a.data == chain.target.view.data || first.b.data == chain.target.view.data;
}

void require_same(const std::vector<double>& expected, const std::vector<double>& got) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same_bits(expected[i], got[i])) FAIL("element " << i << ": " << got[i] << " instead of " << expected[i]);
}

void run_chain(std::uint32_t seed, const Form* form, std::int64_t most, ptx::Runner& ptx,
               const Setting* given = nullptr) {
  CAPTURE(seed);
  ChainCase chain(seed, form, most, given);
  if (chain.setting.volume == 0 || chain.steps.empty()) return;
  for (DeviceOperand& s : chain.sources) fill_unused(s, unused(seed));
  fill_unused(chain.target, unused(seed / 3));
  DeviceOperand& target = chain.target;
  const std::vector<double> before = target.memory;
  FusedRunner runner;
  REQUIRE(runner.run(target.view, chain.steps) == FusedRunner::none);
  const std::vector<double> expected = target.memory;
  target.memory = before;
  if (!reads_target(chain)) each_element(target.view, [](double& x) { x = std::bit_cast<double>(ptx::poison); });
  ptx::Registered registered(ptx.memory);
  registered.add_view(target.view, "the target", false);
  for (std::size_t k = 0; k < chain.sources.size(); ++k)
    registered.add_view(chain.sources[k].view, "source " + std::to_string(k), true);
  ptx.run(plan_device_fused(target.view, chain.steps), nullptr, seed);
  require_same(expected, target.memory);
}

}  // namespace

TEST_CASE("usual chains leave the bits of the host's") {
  NEEDS_GENERATOR;
  for (const int major : {8, 9}) {
    ptx::Runner ptx(major);
    for (std::uint32_t seed = 0; seed < kernel_cases::case_count(1200); ++seed)
      run_chain(7 * seed + static_cast<std::uint32_t>(major), &forms()[seed % forms().size()],
                seed % 50 == 0 ? 60000 : 4000, ptx);
    CHECK(ptx.launched >= kernel_cases::case_count(1000));
    CHECK(ptx.kernels().size() > 50);
  }
}

TEST_CASE("random chains leave the bits of the host's") {
  NEEDS_GENERATOR;
  ptx::Runner ptx;
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(600); ++seed)
    run_chain(11 * seed + 1, nullptr, 6000, ptx);
  CHECK(ptx.launched > kernel_cases::case_count(500));
}

TEST_CASE("chains on blocks that fill a GPU leave the bits of the host's") {
  NEEDS_GENERATOR;
  ptx::Runner ptx;
  const Setting large[] = {{4, {30, 30, 30, 30, 1, 1}, 810000},
                           {2, {1000, 701, 1, 1, 1, 1, 1, 1}, 701000},
                           {6, {8, 10, 8, 10, 8, 12}, 614400}};
  std::uint32_t seed = 0;
  for (const Setting& setting : large)
    for (const Form& form : forms()) run_chain(++seed, &form, 0, ptx, &setting);
}

TEST_CASE("batches of chains leave the bits of each by itself") {
  NEEDS_GENERATOR;
  ptx::Runner ptx;
  for (std::uint32_t seed = 1; seed <= kernel_cases::case_count(600); ++seed) {
    CAPTURE(seed);
    Numbers choose(seed), numbers(seed + 1);
    Setting setting = random_setting(choose, 2000);
    const std::size_t chains = seed % 40 == 0 ? 300 : static_cast<std::size_t>(2 + choose.below(12));
    if (chains == 300) setting = random_setting(choose, 100);
    if (setting.volume == 0) continue;
    const bool even = choose.below(3) > 0;
    const auto order = random_order(choose, setting.rank),
               other = choose.below(2) == 0 ? as_is : random_order(choose, setting.rank);
    const Extents margin = choose.below(3) == 0 ? random_margin(choose, even) : Extents{};
    const int form = static_cast<int>(choose.below(4));
    std::vector<DeviceOperand> targets, first, second;
    for (std::size_t c = 0; c < chains; ++c) {
      const auto at = [&] { return even && (form != 3 || c != 1) ? 32 : 32 + choose.below(2); };
      targets.emplace_back(numbers, setting.rank, setting.extent, as_is, margin, at());
      first.emplace_back(numbers, setting.rank, setting.extent, order, Extents{}, at());
      second.emplace_back(numbers, setting.rank, setting.extent, other, margin, at());
    }
    std::vector<std::vector<FusedStep>> steps(chains);
    std::vector<FusedWork> work;
    std::vector<std::vector<double>> expected;
    ptx::Registered registered(ptx.memory);
    FusedRunner runner;
    for (std::size_t c = 0; c < chains; ++c) {
      const std::size_t shared = c % 5 == 4 ? 0 : c;
      for (DeviceOperand* o : {&targets[c], &second[c]}) fill_unused(*o, unused(seed));
      FusedSource a, b;
      REQUIRE(fused_source(targets[c].view, first[shared].read(), a));
      REQUIRE(fused_source(targets[c].view, second[c].read(), b));
      const FusedSource self{targets[c].view.data, targets[c].view.stride};
      if (form == 0) steps[c] = {{FusedOp::copy, 0.0, a, {}, nullptr}};
      if (form == 1) steps[c] = {{FusedOp::scale, 0.5, {}, {}, nullptr}, {FusedOp::accumulate, -2.0, a, {}, nullptr}};
      if (form == 2)
        steps[c] = {{FusedOp::sum, 1.0, a, b, nullptr},
                    {FusedOp::add_scalar, 3.0, {}, {}, nullptr},
                    {FusedOp::sum, -1.0, b, self, nullptr}};
      if (form == 3) steps[c] = std::vector<FusedStep>(10, {FusedOp::sum, 1.0, self, b, nullptr});
      work.push_back({targets[c].view, steps[c]});
      const std::vector<double> before = targets[c].memory;
      REQUIRE(runner.run(targets[c].view, steps[c]) == FusedRunner::none);
      expected.push_back(targets[c].memory);
      targets[c].memory = before;
      registered.add_view(targets[c].view, "a target", false);
      registered.add_view(first[shared].view, "a first source", true);
      registered.add_view(second[c].view, "a second source", true);
    }
    ptx.run(plan_device_fused(work), nullptr, seed);
    for (std::size_t c = 0; c < chains; ++c) require_same(expected[c], targets[c].memory);
  }
  CHECK(ptx.launched > kernel_cases::case_count(400));
}

TEST_CASE("inner products leave the bits of the host's fallbacks, and the right number") {
  NEEDS_GENERATOR;
  ptx::Runner ptx;
  HostFallbacks fallbacks;
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(900); ++seed) {
    CAPTURE(seed);
    Numbers choose(19 * seed);
    const Setting s = random_setting(choose, seed % 20 == 0 ? 60000 : 3000);
    DeviceOperand a(choose, s.rank, s.extent, as_is, random_margin(choose));
    DeviceOperand b(choose, s.rank, s.extent, random_order(choose, s.rank), random_margin(choose));
    fill_unused(a, unused(seed));
    fill_unused(b, unused(seed / 3));
    const std::int64_t scratch = device_dot_scratch(a.read(), b.read());
    std::vector<double> partial(static_cast<std::size_t>(scratch) + 1, std::bit_cast<double>(ptx::poison));
    fallbacks.run(plan_device_dot(a.read(), b.read(), partial.data()));
    const double expected = partial[0];
    std::fill(partial.begin(), partial.end(), std::bit_cast<double>(ptx::poison));
    ptx::Registered registered(ptx.memory);
    registered.add_view(a.view, "a", true);
    registered.add_view(b.view, "b", true);
    registered.add(partial.data(), scratch, "partial sums", false);
    ptx.run(plan_device_dot(a.read(), b.read(), partial.data()), nullptr, seed);
    CHECK(same_bits(expected, partial[0]));
    // The exact sum, and what rounding may make of it.
    long double sum = 0.0, magnitude = 0.0;
    std::vector<double> y;
    MutableView ordered = b.view;
    for (int d = 0; d < s.rank; ++d)
      for (int e = 0; e < s.rank; ++e)
        if (b.view.label[static_cast<std::size_t>(e)] == a.view.label[static_cast<std::size_t>(d)]) {
          ordered.extent[static_cast<std::size_t>(d)] = b.view.extent[static_cast<std::size_t>(e)];
          ordered.stride[static_cast<std::size_t>(d)] = b.view.stride[static_cast<std::size_t>(e)];
        }
    each_element(ordered, [&](double v) { y.push_back(v); });
    std::size_t k = 0;
    each_element(a.view, [&](double v) {
      const long double product = static_cast<long double>(v) * y[k++];
      sum += product;
      magnitude += product < 0 ? -product : product;
    });
    // A product, and sums of at most 4 + 3 + 32 terms in a row for each thousand and 16 for each partial sum.
    const double bound = static_cast<double>(magnitude) * 1.2e-16 * (60.0 + static_cast<double>(scratch));
    CHECK(std::fabs(partial[0] - static_cast<double>(sum)) <= bound);
  }
}

TEST_CASE("large energies lie in a table in global memory") {
  NEEDS_GENERATOR;
  ptx::Runner ptx;
  Numbers numbers(5);
  for (const std::int64_t n : {100, 700}) {
    const Setting s{2, {n, 300, 1, 1, 1, 1, 1, 1}, n * 300};
    DeviceOperand target(numbers, 2, s.extent, as_is, {}), source(numbers, 2, s.extent, {1, 0}, {});
    std::vector<EnergyDifferences> energies;
    for (int k = 0; k < 5; ++k) energies.push_back(energies_of(numbers, s));
    std::vector<FusedStep> steps(1);
    steps[0].op = FusedOp::accumulate;
    steps[0].value = 0.5;
    REQUIRE(fused_source(target.view, source.read(), steps[0].a));
    for (const EnergyDifferences& e : energies) steps.push_back({FusedOp::divide, 0.0, {}, {}, &e});
    const std::vector<double> before = target.memory;
    FusedRunner runner;
    REQUIRE(runner.run(target.view, steps) == FusedRunner::none);
    const std::vector<double> expected = target.memory;
    target.memory = before;
    ptx::Registered registered(ptx.memory);
    registered.add_view(target.view, "the target", false);
    registered.add_view(source.view, "the source", true);
    ptx.run(plan_device_fused(target.view, steps));
    require_same(expected, target.memory);
  }
}

TEST_CASE("PTX for one processor is that for another") {
  NEEDS_GENERATOR;
  ptx::Runner older(8), newer(9);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    ChainCase chain(seed, nullptr, 3000);
    if (chain.setting.volume == 0) continue;
    for (const DeviceLaunch& l : plan_device_fused(chain.target.view, chain.steps)) {
      const auto body = [&](ptx::Runner& of) {
        const std::string& text = of.text(l.key);
        return text.substr(text.find(".address_size"));
      };
      CHECK(body(older) == body(newer));
    }
  }
}
