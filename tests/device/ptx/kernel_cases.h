#pragma once
// Cases of generated kernels on the interpreter against the host. Each returns what is wrong, empty where nothing is;
// what the interpreter refuses is thrown. Operands are registered from their first to their last element; what lies in
// gaps and around them is poison, NaN or infinity, and a target whose old values nobody needs is poison.

#include <bit>

#include <fmt/format.h>

#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/device_cases.h"
#include "tests/device/ptx/runner.h"

namespace ptx {

using namespace sial;
using namespace sial::kernels;

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

inline double unused(std::uint32_t seed) {
  switch (seed % 3) {
    case 0: return std::bit_cast<double>(poison);
    case 1: return std::numeric_limits<double>::quiet_NaN();
    default: return std::numeric_limits<double>::infinity();
  }
}

/// Gaps and surroundings of an operand.
inline void fill_unused(DeviceOperand& operand, double with) {
  std::vector<double> values;
  each_element(operand.view, [&](double x) { values.push_back(x); });
  std::fill(operand.memory.begin(), operand.memory.end(), with);
  std::size_t k = 0;
  each_element(operand.view, [&](double& x) { x = values[k++]; });
}

inline bool reads_target(const MutableView& target, const FusedStep& first) {
  return !replaces_target(first.op) || first.a.data == target.data || first.b.data == target.data;
}

inline std::string difference(const std::vector<double>& expected, const std::vector<double>& got) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same_bits(expected[i], got[i])) return fmt::format("element {}: {} instead of {}", i, got[i], expected[i]);
  return {};
}

inline std::string chain_problem(std::uint32_t seed, const Form* form, std::int64_t most, Runner& ptx,
                                 const Setting* given = nullptr) {
  ChainCase chain(seed, form, most, given);
  if (chain.setting.volume == 0 || chain.steps.empty()) return {};
  for (DeviceOperand& s : chain.sources) fill_unused(s, unused(seed));
  fill_unused(chain.target, unused(seed / 3));
  DeviceOperand& target = chain.target;
  const std::vector<double> before = target.memory;
  FusedRunner runner;
  if (runner.run(target.view, chain.steps) != FusedRunner::none) return "the host divides by zero";
  const std::vector<double> expected = target.memory;
  target.memory = before;
  if (!reads_target(target.view, chain.steps.front()))
    each_element(target.view, [](double& x) { x = std::bit_cast<double>(poison); });
  Registered registered(ptx.memory);
  registered.add_view(target.view, "the target", false);
  for (std::size_t k = 0; k < chain.sources.size(); ++k)
    registered.add_view(chain.sources[k].view, fmt::format("source {}", k), true);
  ptx.run(plan_device_fused(target.view, chain.steps, limits_of(seed)), nullptr, seed);
  return difference(expected, target.memory);
}

inline std::string batch_problem(std::uint32_t seed, Runner& ptx) {
  BatchCase batch(seed, 2000, 40);
  if (batch.setting.volume == 0) return {};
  for (std::size_t c = 0; c < batch.groups; ++c)
    for (DeviceOperand* o : {&batch.targets[c], &batch.second[c]}) fill_unused(*o, unused(seed));
  const std::vector<std::vector<double>> expected = batch.expected();
  Registered registered(ptx.memory);
  for (std::size_t c = 0; c < batch.groups; ++c) {
    registered.add_view(batch.targets[c].view, "a target", false);
    registered.add_view(batch.first_of(c).view, "a first source", true);
    registered.add_view(batch.second[c].view, "a second source", true);
  }
  ptx.run(plan_device_fused(batch.work, limits_of(seed)), nullptr, seed);
  for (std::size_t c = 0; c < batch.groups; ++c)
    if (const std::string wrong = difference(expected[c], batch.targets[c].memory); !wrong.empty())
      return fmt::format("chain {}, {}", c, wrong);
  return {};
}

inline std::string dot_problem(std::uint32_t seed, Runner& ptx, HostFallbacks& fallbacks) {
  Numbers choose(19 * seed);
  const Setting s = random_setting(choose, seed % 20 == 0 ? 60000 : 3000);
  DeviceOperand a(choose, s.rank, s.extent, as_is, random_margin(choose));
  DeviceOperand b(choose, s.rank, s.extent, random_order(choose, s.rank), random_margin(choose));
  fill_unused(a, unused(seed));
  fill_unused(b, unused(seed / 3));
  DotPlan plan(a.read(), b.read(), limits_of(seed));
  fallbacks.run(plan.launches);
  const double expected = plan.scratch[0];
  std::fill(plan.scratch.begin(), plan.scratch.end(), std::bit_cast<double>(poison));
  Registered registered(ptx.memory);
  registered.add_view(a.view, "a", true);
  registered.add_view(b.view, "b", true);
  registered.add(plan.scratch.data(), std::ssize(plan.scratch) - 1, "sums", false);
  ptx.run(plan.launches, nullptr, seed);
  const double found = plan.scratch[0];
  if (!same_bits(expected, found)) return fmt::format("{} instead of {}", found, expected);
  // The exact sum, and what rounding may make of it.
  long double sum = 0.0, magnitude = 0.0;
  std::vector<double> y;
  MutableView ordered = b.view;
  for (std::size_t d = 0; d < static_cast<std::size_t>(s.rank); ++d)
    for (std::size_t e = 0; e < static_cast<std::size_t>(s.rank); ++e)
      if (b.view.label[e] == a.view.label[d]) {
        ordered.extent[d] = b.view.extent[e];
        ordered.stride[d] = b.view.stride[e];
      }
  each_element(ordered, [&](double v) { y.push_back(v); });
  std::size_t k = 0;
  each_element(a.view, [&](double v) {
    const long double product = static_cast<long double>(v) * y[k++];
    sum += product;
    magnitude += product < 0 ? -product : product;
  });
  // Terms in a row: a product and 4 + 2 + 32 sums in a thread block, and one for each partial sum.
  const double bound = static_cast<double>(magnitude) * 1.2e-16 * (60.0 + static_cast<double>(plan.scratch.size()));
  if (std::fabs(found - static_cast<double>(sum)) <= bound) return {};
  return fmt::format("{} instead of {} +- {}", found, static_cast<double>(sum), bound);
}

}  // namespace ptx
