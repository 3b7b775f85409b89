// How the accesses of generated GPU kernels fall together: the 128-byte segments of memory and the banks of shared
// memory that the threads of a warp meet at once. This is what turning sources through shared memory is for, and where
// it shows that it happens.

#include "tests/conformance/kernels/device_cases.h"

using namespace sial;
using namespace sial::kernels;

namespace {

/// Accesses of whole warps: the n-th of each thread at one place of the code belong together.
struct Recorder : DeviceTrace {
  struct Access {
    std::set<std::uintptr_t> segments;
    std::map<std::uintptr_t, std::set<std::uintptr_t>> banks;  // the words in each, first half of the warp and second
    std::int64_t bytes = 0;
  };
  std::map<std::array<std::uint32_t, 4>, Access> accesses;  // block, warp, site with what it is, number
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> count;

  std::uint32_t every;  // n-th thread block is looked at

  explicit Recorder(std::uint32_t n) : every(n) {
    access = [](DeviceTrace* self, std::uint32_t block, std::uint32_t thread, std::uint32_t site, const void* address,
                std::uint32_t bytes, std::uint32_t what) {
      Recorder& r = *static_cast<Recorder*>(self);
      if (block % r.every != 0) return;
      const std::uint32_t place = 4 * site + what;
      Access& a = r.accesses[{block, thread / 32, place, r.count[{block, thread, place}]++}];
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      a.bytes += bytes;
      for (std::uintptr_t s = at / 128; s <= (at + bytes - 1) / 128; ++s) a.segments.insert(s);
      a.banks[at / 8 % 16 + (thread % 32 < 16 ? 0 : 16)].insert(at / 8);
    };
  }
};

struct Cost {
  double segments = 0;  // of memory, over the fewest that as many bytes can lie in
  double banks = 0;     // rounds of shared memory, over the fewest; 0: there was none
};

Cost cost_of(HostFallbacks& fallbacks, const std::vector<DeviceLaunch>& launches) {
  Recorder recorder(launches.front().blocks > 32 ? 17 : 1);
  fallbacks.run(launches, &recorder);
  std::int64_t segments = 0, fewest = 0, rounds = 0, halves = 0;
  for (const auto& [key, a] : recorder.accesses) {
    if ((key[2] & DeviceTrace::in_shared) == 0) {
      segments += static_cast<std::int64_t>(a.segments.size());
      fewest += (a.bytes + 127) / 128;
      continue;
    }
    for (const std::uintptr_t half : {0, 16}) {
      std::size_t most = 0;
      for (const auto& [bank, words] : a.banks)
        if (bank / 16 == half / 16) most = std::max(most, words.size());
      rounds += static_cast<std::int64_t>(most);
      halves += most > 0 ? 1 : 0;
    }
  }
  return {static_cast<double>(segments) / static_cast<double>(fewest),
          halves > 0 ? static_cast<double>(rounds) / static_cast<double>(halves) : 0.0};
}

struct Permutation {
  std::vector<std::int64_t> extent;  // of the target
  std::array<int, max_rank> order;   // the source's k-th dimension is the target's order[k]-th
};

struct Planned {
  std::vector<DeviceLaunch> launches;
  Cost cost;
  bool transposed = false, pairs = false;
};

Planned permuted(HostFallbacks& fallbacks, const Permutation& p, FusedOp op, std::int64_t first = 32) {
  Numbers numbers(1);
  Extents extent = unit_extents;
  std::copy(p.extent.begin(), p.extent.end(), extent.begin());
  const auto rank = static_cast<int>(p.extent.size());
  DeviceOperand target(numbers, rank, extent, as_is, {}, first), source(numbers, rank, extent, p.order, {}, first);
  std::vector<FusedStep> step(1);
  step[0].op = op;
  step[0].value = 0.5;
  REQUIRE(fused_source(target.view, source.read(), step[0].a));
  Planned result;
  result.launches = plan_device_fused(target.view, step);
  result.cost = cost_of(fallbacks, result.launches);
  for (const DeviceLaunch& l : result.launches) {
    DeviceFusedCode code;
    REQUIRE(read_device_fused_key(l.key, code));
    result.transposed |= code.box_dims > 0;
    result.pairs |= code.pairs;
  }
  return result;
}

}  // namespace

TEST_CASE("permuted sources and targets are met in full segments, shared memory in different banks") {
  HostFallbacks fallbacks;
  if (!fallbacks.available()) {
    WARN("no code generator in this build: skipped");
    return;
  }
  const std::vector<Permutation> transposed = {
      {{30, 30, 30, 30}, {3, 1, 2, 0, 4, 5, 6, 7}}, {{16, 16, 16, 16}, {3, 1, 2, 0, 4, 5, 6, 7}},
      {{10, 10, 10, 10}, {3, 1, 2, 0, 4, 5, 6, 7}}, {{30, 30, 30, 30}, {1, 0, 2, 3, 4, 5, 6, 7}},
      {{10, 10, 10, 10}, {1, 0, 3, 2, 4, 5, 6, 7}}, {{16, 16, 16, 16}, {2, 3, 0, 1, 4, 5, 6, 7}},
      {{10, 10, 10, 10}, {0, 2, 1, 3, 4, 5, 6, 7}}, {{5, 20, 5, 20}, {2, 3, 0, 1, 4, 5, 6, 7}},
      {{5, 5, 25, 25}, {3, 1, 2, 0, 4, 5, 6, 7}},   {{100, 100}, {1, 0, 2, 3, 4, 5, 6, 7}},
      {{31, 37, 29}, {2, 1, 0, 3, 4, 5, 6, 7}},     {{6, 7, 5, 8, 6, 5}, {5, 3, 4, 1, 2, 0}},
      {{33, 65, 17}, {1, 2, 0, 3, 4, 5, 6, 7}},     {{8, 8, 8, 8}, {3, 2, 1, 0, 4, 5, 6, 7}}};
  for (const Permutation& p : transposed)
    for (const FusedOp op : {FusedOp::copy, FusedOp::accumulate}) {
      CAPTURE(p.extent, p.order);
      const Planned found = permuted(fallbacks, p, op);
      CHECK(found.transposed);
      CHECK(found.cost.segments <= 2.0);
      CHECK(found.cost.banks <= 2.5);
      CHECK(found.cost.banks >= 1.0);
    }
}

TEST_CASE(
    "sources that go along with the target are read where they lie, two elements at a time where all is aligned") {
  HostFallbacks fallbacks;
  if (!fallbacks.available()) return;
  const Permutation dense{{30, 30, 30, 30}, as_is}, rows{{30, 20, 20, 30}, {0, 2, 1, 3, 4, 5, 6, 7}},
      odd{{31, 20, 21, 9}, {0, 2, 1, 3, 4, 5, 6, 7}};
  for (const Permutation& p : {dense, rows, odd}) {
    CAPTURE(p.extent);
    const Planned found = permuted(fallbacks, p, FusedOp::accumulate, 32);
    CHECK_FALSE(found.transposed);
    CHECK(found.launches.at(0).shared_bytes == 0);
    CHECK(found.cost.segments <= 2.0);
    const Planned elsewhere = permuted(fallbacks, p, FusedOp::accumulate, 33);
    CHECK_FALSE(elsewhere.pairs);  // refused: one operand or the other is not 16-byte aligned
  }
  // Memory of vectors begins at 16 bytes or at 8: one of the two is aligned, an odd extent never is.
  CHECK_FALSE(permuted(fallbacks, odd, FusedOp::copy, 32).pairs);
}

TEST_CASE("small blocks are not transposed, and a source without contiguous elements is read where it lies") {
  HostFallbacks fallbacks;
  if (!fallbacks.available()) return;
  CHECK_FALSE(permuted(fallbacks, {{7, 7, 7}, {2, 1, 0, 3, 4, 5, 6, 7}}, FusedOp::copy).transposed);
  Numbers numbers(1);
  DeviceOperand target(numbers, 2, {60, 60, 1, 1, 1, 1}, as_is, {});
  std::vector<double> memory(60 * 60 * 2);
  FusedStep copy{FusedOp::copy, 0.0, {memory.data(), {120, 2}}, {}, nullptr};
  const auto launches = plan_device_fused(target.view, std::span(&copy, 1));
  REQUIRE(launches.size() == 1);
  DeviceFusedCode code;
  REQUIRE(read_device_fused_key(launches[0].key, code));
  CHECK(code.box_dims == 0);
}

TEST_CASE("steps go together as far as boxes, arguments and keys reach") {
  Numbers numbers(1);
  const Extents extent{32, 32, 32, 32, 1, 1, 1, 1};
  DeviceOperand target(numbers, 4, extent, as_is, {});
  const auto launches = [&](const std::vector<std::array<int, max_rank>>& orders) {
    std::vector<DeviceOperand> sources;
    for (const auto& order : orders) sources.emplace_back(numbers, 4, extent, order, Extents{});
    std::vector<FusedStep> steps;
    for (const DeviceOperand& s : sources) {
      FusedStep step;
      step.op = FusedOp::accumulate;
      step.value = 2.0;
      REQUIRE(fused_source(target.view, s.read(), step.a));
      steps.push_back(step);
    }
    return plan_device_fused(target.view, steps).size();
  };
  const std::array<int, max_rank> swapped{1, 0, 2, 3, 4, 5, 6, 7}, also{1, 0, 3, 2, 4, 5, 6, 7},
      other{2, 1, 0, 3, 4, 5, 6, 7};
  CHECK(launches({as_is, as_is, as_is, as_is, as_is, as_is, as_is, as_is}) == 1);
  CHECK(launches({as_is, as_is, as_is, as_is, as_is, as_is, as_is, as_is, as_is}) == 2);
  CHECK(launches({swapped, as_is, also}) == 1);       // the same box does for both
  CHECK(launches({swapped, swapped, swapped}) == 2);  // max_transposed
  CHECK(launches({swapped, other}) == 2);             // no box holds runs of three dimensions
}

TEST_CASE("launches of large blocks fill a large GPU, of small ones are spread") {
  HostFallbacks fallbacks;
  if (!fallbacks.available()) return;
  const Permutation large{{30, 30, 30, 30}, {3, 1, 2, 0, 4, 5, 6, 7}},
      small{{10, 10, 10, 10}, {3, 1, 2, 0, 4, 5, 6, 7}};
  CHECK(permuted(fallbacks, large, FusedOp::copy).launches.at(0).blocks >= 264);
  CHECK(permuted(fallbacks, small, FusedOp::copy).launches.at(0).blocks >= 20);
  Numbers numbers(1);
  DeviceOperand t(numbers, 1, {2000000, 1, 1, 1, 1, 1}, as_is, {});
  const FusedStep scale{FusedOp::scale, 2.0, {}, {}, nullptr};
  const auto launches = plan_device_fused(t.view, std::span(&scale, 1));
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].blocks >= 264);
  DeviceFusedCode code;
  REQUIRE(read_device_fused_key(launches[0].key, code));
  CHECK(code.unrolled);
}
