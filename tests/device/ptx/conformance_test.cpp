// Every kind of generated kernel, its PTX carried out by the interpreter, against the host: chains and batches of them
// leave the bits of FusedRunner, inner products those of the host's fallbacks, which add up in the same order, and the
// right number within a bound.

#include "tests/device/ptx/kernel_cases.h"
#include "tests/level.h"

using namespace ptx;

#define NEEDS_GENERATOR                               \
  if (!why_no_device_code().empty()) {                \
    WARN("no code generator in this build: skipped"); \
    return;                                           \
  }

namespace {

void right(const std::string& problem) {
  if (!problem.empty()) FAIL(problem);
}

}  // namespace

TEST_CASE("usual chains leave the bits of the host's") {
  NEEDS_GENERATOR;
  for (const int major : {8, 9}) {
    Runner ptx(major);
    for (std::uint32_t seed = 0; seed < kernel_cases::case_count(1200); ++seed) {
      CAPTURE(seed);
      right(chain_problem(7 * seed + static_cast<std::uint32_t>(major), &forms()[seed % forms().size()],
                          seed % 50 == 0 ? 60000 : 4000, ptx));
    }
    CHECK(ptx.launched >= kernel_cases::case_count(1000));
    CHECK(ptx.kernels().size() > 50);
  }
}

TEST_CASE("random chains leave the bits of the host's") {
  NEEDS_GENERATOR;
  Runner ptx;
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(600); ++seed) {
    CAPTURE(seed);
    right(chain_problem(11 * seed + 1, nullptr, 6000, ptx));
  }
  CHECK(ptx.launched > kernel_cases::case_count(500));
}

TEST_CASE("chains on blocks that fill a GPU leave the bits of the host's") {
  NEEDS_GENERATOR;
  Runner ptx;
  const Setting large[] = {{4, {30, 30, 30, 30, 1, 1}, 810000},
                           {2, {1000, 701, 1, 1, 1, 1, 1, 1}, 701000},
                           {6, {8, 10, 8, 10, 8, 12}, 614400}};
  std::uint32_t seed = 0;
  for (const Setting& setting : large)
    for (const Form& form : forms()) {
      CAPTURE(++seed);
      if (seed % 2 == 0 || test_level::is_long()) right(chain_problem(seed, &form, 0, ptx, &setting));
    }
}

TEST_CASE("batches of chains leave the bits of each by itself") {
  NEEDS_GENERATOR;
  Runner ptx;
  for (std::uint32_t seed = 1; seed <= kernel_cases::case_count(600); ++seed) {
    CAPTURE(seed);
    right(batch_problem(seed, ptx));
  }
  CHECK(ptx.launched > kernel_cases::case_count(400));
}

TEST_CASE("inner products leave the bits of the host's fallbacks, and the right number") {
  NEEDS_GENERATOR;
  Runner ptx;
  HostFallbacks fallbacks;
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(900); ++seed) {
    CAPTURE(seed);
    right(dot_problem(seed, ptx, fallbacks));
  }
}

TEST_CASE("large energies lie in a table in global memory") {
  NEEDS_GENERATOR;
  Runner ptx;
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
    Registered registered(ptx.memory);
    registered.add_view(target.view, "the target", false);
    registered.add_view(source.view, "the source", true);
    ptx.run(plan_device_fused(target.view, steps));
    right(difference(expected, target.memory));
  }
}

TEST_CASE("PTX for one processor is that for another") {
  NEEDS_GENERATOR;
  Runner older(8), newer(9);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    ChainCase chain(seed, nullptr, 3000);
    if (chain.setting.volume == 0) continue;
    for (const DeviceLaunch& l : plan_device_fused(chain.target.view, chain.steps)) {
      const auto body = [&](Runner& of) {
        const std::string& text = of.text(l.key);
        return text.substr(text.find(".address_size"));
      };
      CHECK(body(older) == body(newer));
    }
  }
}
