#pragma once
// Shared by the suites of generated GPU kernels: blocks with margins, random numbers, and launches carried out by host
// fallbacks on the host.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "runtime/core/kernels/gpu/device_code.h"
#include "runtime/core/kernels/gpu/device_layout.h"
#include "tests/conformance/kernels/random_blocks.h"

namespace sial::kernels {

inline constexpr double odd_numbers[] = {0.0,      -0.0, std::numeric_limits<double>::infinity(), 1.0, -1.0,
                                         4.9e-324, 1e308};

/// A block whose k-th dimension is named order[k], dense or a part of a larger array; the memory around its elements is
/// NaN.
struct DeviceOperand {
  std::vector<double> memory;
  MutableView view;

  DeviceOperand(Numbers& numbers, int rank, const Extents& extent, const std::array<int, max_rank>& order,
                const Extents& margin, std::int64_t first = 32) {
    const std::int64_t all = lay_out(view, rank, extent, order, margin);
    memory.assign(static_cast<std::size_t>(all + first) + 32, std::numeric_limits<double>::quiet_NaN());
    view.data = memory.data() + first;
    for (int d = 0; d < rank; ++d)
      if (view.extent[d] == 0) return;
    Extents at{};
    for (;;) {
      std::int64_t o = 0;
      for (int d = 0; d < rank; ++d) o += at[d] * view.stride[d];
      view.data[o] = numbers();
      int d = 0;
      for (; d < rank && ++at[d] == view.extent[d]; ++d) at[d] = 0;
      if (d == rank) return;
    }
  }
  ConstView read() const { return as_const(view); }
};

/// A quarter of the cases go through boxes by rows, however few boxes there are.
inline DeviceLimits limits_of(std::uint32_t seed) { return seed % 4 == 0 ? DeviceLimits{0} : DeviceLimits{}; }

/// An inner product with memory of its own for sums, of NaN, and one more behind.
struct DotPlan {
  DotPlan(const ConstView& a, const ConstView& b, const DeviceLimits& limits = {})
      : launches(plan_device_dot(
            a, b,
            [this](std::int64_t doubles) {
              scratch.assign(static_cast<std::size_t>(doubles) + 1, std::numeric_limits<double>::quiet_NaN());
              return scratch.data();
            },
            limits)) {}
  DotPlan(const DotPlan&) = delete;
  std::vector<double> scratch;  // the result first
  std::vector<DeviceLaunch> launches;
};

inline bool same_bits(double x, double y) {
  return std::memcmp(&x, &y, sizeof(double)) == 0 || (std::isnan(x) && std::isnan(y));
}

/// HostFallbacks of one engine.
class HostFallbacks {
 public:
  HostFallbacks() : engine_(make_code_engine({true, true, "", ""})) {}
  bool available() const { return engine_->wait({CodeKind::device_sum, {}}) != nullptr; }
  void run(std::vector<DeviceLaunch> launches, DeviceTrace* trace = nullptr) {
    for (DeviceLaunch& l : launches) {
      REQUIRE(l.shared_bytes <= max_shared_bytes);
      REQUIRE(l.arguments.size() <= max_argument_bytes);
      REQUIRE(l.blocks > 0);
      REQUIRE(l.threads > 0);
      REQUIRE(l.threads <= 256);
      keys.insert(l.key);
      const double* table = l.table.data();
      if (!l.table.empty()) std::memcpy(l.arguments.data() + l.table_at, &table, sizeof table);
      shared_.assign(l.shared_bytes / 8 + 2, std::numeric_limits<double>::quiet_NaN());
      void* shared = shared_.data() + (reinterpret_cast<std::uintptr_t>(shared_.data()) % 16 == 0 ? 0 : 1);
      const auto fallback = reinterpret_cast<DeviceHostFallback>(engine_->wait(l.key));
      if (fallback == nullptr) FAIL("no host fallback of " << code_name(l.key));
      fallback(l.arguments.data(), l.blocks, l.threads, shared, trace);
    }
  }
  std::set<CodeKey> keys;
  CodeStats stats() const { return engine_->stats(); }

 private:
  std::shared_ptr<CodeEngine> engine_;
  std::vector<double> shared_;
};

inline constexpr std::array<int, max_rank> as_is{0, 1, 2, 3, 4, 5, 6, 7};

struct Setting {
  int rank = 0;
  Extents extent = unit_extents;
  std::int64_t volume = 1;
};

inline Setting random_setting(Numbers& choose, std::int64_t most) {
  static constexpr std::int64_t few[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 10, 11, 13, 16, 17, 29, 30, 31, 32};
  Setting s;
  s.rank = static_cast<int>(choose.below(max_rank + 1));
  for (int d = 0; d < s.rank; ++d) {
    std::int64_t n = few[choose.below(std::size(few))];
    if (n == 0 && choose.below(10) > 0) n = 6;
    if (s.rank < 4 && choose.below(4) == 0) n = 33 + choose.below(100);
    if (s.volume * n > most) n = 1 + choose.below(2);
    s.volume *= std::max<std::int64_t>(1, n);
    s.extent[d] = n;
  }
  return s;
}

inline std::array<int, max_rank> random_order(Numbers& choose, int rank) {
  std::array<int, max_rank> order = as_is;
  for (int d = rank - 1; d > 0; --d) std::swap(order[d], order[choose.below(d + 1)]);
  return order;
}

inline Extents random_margin(Numbers& choose, bool even = false) {
  Extents margin{};
  for (std::int64_t& m : margin) m = even ? 2 * choose.below(2) : choose.below(3);
  return margin;
}

inline EnergyDifferences energies_of(Numbers& numbers, const Setting& s) {
  EnergyDifferences e;
  e.rank = s.rank;
  e.shift = numbers.below(2) == 0 ? 0.0 : 0.25 * numbers();
  for (int d = 0; d < s.rank; ++d)
    for (std::int64_t p = 0; p < s.extent[d]; ++p)
      e.energy[d].push_back(numbers() + (d % 2 == 1 ? 20.0 : -20.0));  // no difference is zero
  return e;
}

/// What a case consists of: operations with the sources that they take, 0 ... 3, 4: the target. Few, so that kernels
/// meet many cases.
struct Form {
  std::vector<std::array<int, 3>> steps;  // operation, a, b
};
inline const std::vector<Form>& forms() {
  constexpr int fill = 0, add = 1, scale = 2, copy = 3, scaled = 4, accumulate = 5, sum = 6, divide = 7, multiply = 8;
  static const std::vector<Form> all = {{{{copy, 0, 0}}},
                                        {{{accumulate, 0, 0}}},
                                        {{{sum, 0, 1}}},
                                        {{{fill, 0, 0}, {scaled, 0, 0}, {add, 0, 0}, {sum, 4, 0}, {scale, 0, 0}}},
                                        {{{divide, 0, 0}, {accumulate, 4, 0}, {multiply, 1, 0}}}};
  return all;
}

/// A random chain of element-wise steps on random blocks; `form`: its steps, else random ones, too.
struct ChainCase {
  ChainCase(std::uint32_t seed, const Form* form, std::int64_t most, const Setting* given = nullptr)
      : choose(seed),
        setting(given ? *given : random_setting(choose, most)),
        numbers(seed + 1, choose.below(2) == 0 ? std::span(odd_numbers) : std::span<const double>()),
        even(choose.below(2) == 0),
        target(numbers, setting.rank, setting.extent, as_is,
               choose.below(3) == 0 ? random_margin(choose, even) : Extents{}, even ? 32 : 32 + choose.below(2)) {
    for (int k = 0; k < 4; ++k)
      sources.emplace_back(
          numbers, setting.rank, setting.extent, choose.below(3) > 0 ? random_order(choose, setting.rank) : as_is,
          choose.below(4) == 0 ? random_margin(choose, even) : Extents{}, even ? 32 : 32 + choose.below(2));
    for (int k = 0; k < 4; ++k) energies.push_back(energies_of(choose, setting));
    Form random;
    if (form == nullptr) {
      for (std::int64_t n = 1 + choose.below(12); n > 0; --n)
        random.steps.push_back(
            {static_cast<int>(choose.below(9)), static_cast<int>(choose.below(5)), static_cast<int>(choose.below(5))});
      form = &random;
    }
    for (const auto& [op, a, b] : form->steps) {
      FusedStep s;
      s.op = static_cast<FusedOp>(op);
      s.value = choose.below(3) == 0 ? (choose.below(2) == 0 ? 1.0 : -1.0) : numbers();
      const auto source = [&](int which, FusedSource& to) {
        REQUIRE(fused_source(target.view, which == 4 ? target.read() : sources[static_cast<std::size_t>(which)].read(),
                             to));
      };
      switch (s.op) {
        case FusedOp::sum:
          s.value = choose.below(2) == 0 ? 1.0 : -1.0;
          source(b, s.b);
          [[fallthrough]];
        case FusedOp::copy:
        case FusedOp::scaled_copy:
        case FusedOp::accumulate: source(a, s.a); break;
        case FusedOp::divide:
        case FusedOp::multiply:
          if (setting.rank == 0 || setting.rank % 2 != 0 || setting.rank > 2 * FusedTile::sources_per_step) continue;
          s.energies = &energies[static_cast<std::size_t>(a % 4)];
          break;
        default: break;
      }
      steps.push_back(s);
    }
  }

  Numbers choose;
  Setting setting;
  Numbers numbers;
  bool even;
  DeviceOperand target;
  std::vector<DeviceOperand> sources;
  std::vector<EnergyDifferences> energies;  // steps point to these
  std::vector<FusedStep> steps;
};

/// Chains of one shape for one launch, every `rare`th time 300 of them. Some share a source; one that is not aligned as
/// the others are is enough to keep all from going two elements at a time.
struct BatchCase {
  BatchCase(std::uint32_t seed, std::int64_t most, std::uint32_t rare) {
    Numbers choose(seed), numbers(seed + 1);
    setting = random_setting(choose, most);
    groups = seed % rare == 0 ? 300 : static_cast<std::size_t>(2 + choose.below(12));
    if (groups == 300) setting = random_setting(choose, 100);
    const bool even = choose.below(3) > 0;
    const auto order = random_order(choose, setting.rank),
               other = choose.below(2) == 0 ? as_is : random_order(choose, setting.rank);
    const Extents margin = choose.below(3) == 0 ? random_margin(choose, even) : Extents{};
    const int form = static_cast<int>(choose.below(4));
    for (std::size_t c = 0; c < groups; ++c) {
      const auto at = [&] { return even && (form != 3 || c != 1) ? 32 : 32 + choose.below(2); };
      targets.emplace_back(numbers, setting.rank, setting.extent, as_is, margin, at());
      first.emplace_back(numbers, setting.rank, setting.extent, order, Extents{}, at());
      second.emplace_back(numbers, setting.rank, setting.extent, other, margin, at());
    }
    steps.resize(groups);
    for (std::size_t c = 0; c < groups; ++c) {
      FusedSource a, b;
      REQUIRE(fused_source(targets[c].view, first_of(c).read(), a));
      REQUIRE(fused_source(targets[c].view, second[c].read(), b));
      const FusedSource self{targets[c].view.data, targets[c].view.stride};
      if (form == 0) steps[c] = {{FusedOp::copy, 0.0, a, {}, nullptr}};
      if (form == 1) steps[c] = {{FusedOp::scale, 0.5, {}, {}, nullptr}, {FusedOp::accumulate, -2.0, a, {}, nullptr}};
      if (form == 2)
        steps[c] = {{FusedOp::sum, 1.0, a, b, nullptr},
                    {FusedOp::add_scalar, 3.0, {}, {}, nullptr},
                    {FusedOp::sum, -1.0, b, self, nullptr}};
      if (form == 3)
        steps[c] = std::vector<FusedStep>(10, {FusedOp::sum, 1.0, self, b, nullptr});  // more than a kernel takes
      work.push_back({targets[c].view, steps[c]});
    }
  }
  BatchCase(const BatchCase&) = delete;

  const DeviceOperand& first_of(std::size_t c) const { return first[c % 5 == 4 ? 0 : c]; }

  /// What the targets' memory is after all chains, on the host; they keep what they have.
  std::vector<std::vector<double>> expected() {
    FusedRunner runner;
    std::vector<std::vector<double>> after;
    for (std::size_t c = 0; c < groups; ++c) {
      const std::vector<double> before = targets[c].memory;
      REQUIRE(runner.run(targets[c].view, steps[c]) == FusedRunner::none);
      after.push_back(targets[c].memory);
      targets[c].memory = before;
    }
    return after;
  }

  Setting setting;
  std::size_t groups = 0;
  std::vector<DeviceOperand> targets, first, second;
  std::vector<std::vector<FusedStep>> steps;
  std::vector<FusedWork> work;
};

}  // namespace sial::kernels
