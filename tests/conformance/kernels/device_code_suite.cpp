// Generated GPU kernels, carried out by their host fallbacks: chains leave the bits of FusedRunner, sums of products
// are right and the same every time, keys say what they were made of.

#include <sys/mman.h>

#include "tests/conformance/kernels/case_count.h"
#include "tests/conformance/kernels/device_cases.h"

using namespace sial;
using namespace sial::kernels;

namespace {

void run_case(std::uint32_t seed, const Form* form, std::int64_t most, FusedRunner& runner, HostFallbacks& fallbacks,
              const Setting* given = nullptr) {
  CAPTURE(seed);
  ChainCase chain(seed, form, most, given);
  DeviceOperand& target = chain.target;
  const std::vector<double> before = target.memory;
  REQUIRE(runner.run(target.view, chain.steps) == FusedRunner::none);
  const std::vector<double> expected = target.memory;
  target.memory = before;  // the same memory, so that steps on the target itself mean the same
  fallbacks.run(plan_device_fused(target.view, chain.steps, limits_of(seed)));
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same_bits(expected[i], target.memory[i]))
      FAIL("element " << i << ": " << target.memory[i] << " instead of " << expected[i]);
}

double plain_dot(const ConstView& a, const ConstView& b) {
  for (int d = 0; d < a.rank; ++d)
    if (a.extent[d] == 0) return 0.0;
  Extents at{};
  long double sum = 0.0;
  for (;;) {
    std::int64_t i = 0, j = 0;
    for (int d = 0; d < a.rank; ++d) {
      i += at[d] * a.stride[d];
      for (int s = 0; s < b.rank; ++s)
        if (b.label[s] == a.label[d]) j += at[d] * b.stride[s];
    }
    sum += static_cast<long double>(a.data[i]) * b.data[j];
    int d = 0;
    for (; d < a.rank && ++at[d] == a.extent[d]; ++d) at[d] = 0;
    if (d == a.rank) return static_cast<double>(sum);
  }
}

#define NEEDS_FALLBACKS(fallbacks)                    \
  if (!(fallbacks).available()) {                     \
    WARN("no code generator in this build: skipped"); \
    return;                                           \
  }

}  // namespace

TEST_CASE("chains on a GPU leave the bits of the host's: usual chains on random blocks") {
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  FusedRunner runner;
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(12000); ++seed)
    run_case(5 * seed, &forms()[seed % forms().size()], seed % 50 == 0 ? 60000 : 4000, runner, fallbacks);
  CHECK(fallbacks.keys.size() > 200);
  int rows = 0, both = 0;
  for (const CodeKey& key : fallbacks.keys)
    if (DeviceFusedCode code; read_device_fused_key(key, code)) {
      rows += code.row_dims > 0 || code.transposed_row_dims[0] > 0 ? 1 : 0;
      both += code.row_dims > 0 && code.transposed_row_dims[0] > 0 ? 1 : 0;
    }
  CHECK(rows > 20);
  CHECK(both > 5);
}

TEST_CASE("chains on a GPU leave the bits of the host's: random chains") {
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  FusedRunner runner;
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(120); ++seed)
    run_case(13 * seed + 1, nullptr, 6000, runner, fallbacks);
}

TEST_CASE("chains on a GPU leave the bits of the host's: blocks that fill a GPU") {
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  FusedRunner runner;
  const Setting large[] = {{4, {30, 30, 30, 30, 1, 1}, 810000},
                           {4, {31, 30, 29, 28, 1, 1}, 755160},
                           {2, {1000, 701, 1, 1, 1, 1, 1, 1}, 701000},
                           {6, {8, 10, 8, 10, 8, 12}, 614400}};
  std::uint32_t seed = 0;
  for (const Setting& setting : large)
    for (const Form& form : forms())
      for (int k = 0; k < 2; ++k) run_case(++seed, &form, 0, runner, fallbacks, &setting);
  int unrolled = 0, pairs = 0;
  for (const CodeKey& key : fallbacks.keys) {
    DeviceFusedCode code;
    if (!read_device_fused_key(key, code)) continue;
    unrolled += code.unrolled && code.box_dims == 0 ? 1 : 0;
    pairs += code.unrolled && code.pairs ? 1 : 0;
  }
  CHECK(unrolled >= 2);
  CHECK(pairs >= 1);
}

TEST_CASE("chains of one shape in one launch leave the bits of each by itself") {
  HostFallbacks fallbacks;
  if (!fallbacks.available()) return;
  int boxes = 0, pairs = 0, several = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    BatchCase batch(seed, 3000, 50);
    const std::vector<std::vector<double>> expected = batch.expected();
    const std::vector<DeviceLaunch> together = plan_device_fused(batch.work, limits_of(seed)),
                                    alone = plan_device_fused(batch.work[0].target, batch.work[0].steps);
    CHECK(together.size() >= alone.size());
    if (batch.groups < 14) CHECK(together.size() == alone.size());
    several += together.size() > alone.size() ? 1 : 0;
    for (const DeviceLaunch& l : together) {
      DeviceFusedCode code;
      REQUIRE(read_device_fused_key(l.key, code));
      CHECK(code.batched);
      boxes += code.box_dims > 0 ? 1 : 0;
      pairs += code.pairs ? 1 : 0;
    }
    fallbacks.run(together);
    for (std::size_t c = 0; c < batch.groups; ++c)
      for (std::size_t i = 0; i < expected[c].size(); ++i)
        if (const double found = batch.targets[c].memory[i]; !same_bits(expected[c][i], found))
          FAIL("chain " << c << ", element " << i << ": " << found << " instead of " << expected[c][i]);
  }
  CHECK(boxes > 20);
  CHECK(pairs > 5);
  CHECK(several > 2);
  CHECK(plan_device_fused({}).empty());
}

TEST_CASE("sums of products are right, and the same bits wherever the operands lie") {
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  int boxes = 0, several = 0;
  for (std::uint32_t seed = 0; seed < kernel_cases::case_count(3000); ++seed) {
    CAPTURE(seed);
    Numbers choose(17 * seed);
    const Setting s = random_setting(choose, seed % 20 == 0 ? 60000 : 3000);
    const auto order = random_order(choose, s.rank);
    const Extents a_margin = random_margin(choose, true), b_margin = random_margin(choose);
    const DeviceOperand a(choose, s.rank, s.extent, as_is, a_margin), b(choose, s.rank, s.extent, order, b_margin);
    const auto sum = [&](const DeviceOperand& x, const DeviceOperand& y) {
      const DotPlan plan(x.read(), y.read(), limits_of(seed));
      for (const DeviceLaunch& l : plan.launches)
        if (DeviceFusedCode code; read_device_fused_key(l.key, code) && code.box_dims > 0) ++boxes;
      several += plan.launches.size() > 1 ? 1 : 0;
      fallbacks.run(plan.launches);
      REQUIRE(std::isnan(plan.scratch.back()));
      return plan.scratch[0];
    };
    const double first = sum(a, b);
    CHECK(first == Approx(plain_dot(a.read(), b.read())).epsilon(1e-12).margin(1e-11));
    // The same values elsewhere, less well aligned.
    Numbers other(3);
    DeviceOperand a2(other, s.rank, s.extent, as_is, a_margin, 33), b2(other, s.rank, s.extent, order, b_margin, 35);
    a2.memory.resize(a.memory.size() + 1), b2.memory.resize(b.memory.size() + 3);
    std::copy(a.memory.begin(), a.memory.end(), a2.memory.begin() + 1);
    std::copy(b.memory.begin(), b.memory.end(), b2.memory.begin() + 3);
    a2.view.data = a2.memory.data() + 33, b2.view.data = b2.memory.data() + 35;
    CHECK(same_bits(first, sum(a2, b2)));
    CHECK(same_bits(sum(a, a), sum(a, a2)));
  }
  CHECK(boxes > 20);
  CHECK(several > 20);
}

TEST_CASE("sums of many sums take several rounds") {
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  // A plan for operands that are nowhere, and numbers for its last rounds.
  double* const base = reinterpret_cast<double*>(std::uintptr_t{1} << 40);
  ConstView a;
  a.data = base, a.rank = 2, a.extent = {6000, 6000, 1, 1, 1, 1, 1, 1}, a.stride = {1, 6000}, a.label = {1, 2};
  ConstView b = a;
  b.data = base + (std::int64_t{1} << 30), b.label = {2, 1};
  DotPlan plan(a, b);
  REQUIRE(plan.launches.size() == 3);
  const std::uint32_t sums = plan.launches[0].blocks;
  CHECK(sums > 8192);
  CHECK(plan.scratch.size() == sums + plan.launches[1].blocks + 1);
  double expected = 0.0;
  for (std::uint32_t k = 0; k < sums; ++k) expected += plan.scratch[k] = 1.0 + k % 7;
  plan.launches.erase(plan.launches.begin());
  fallbacks.run(plan.launches);
  CHECK(plan.scratch[0] == expected);
}

TEST_CASE("large energies lie in a table, and large arguments make several launches") {
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  Numbers numbers(5);
  FusedRunner runner;
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
    runner.run(target.view, steps);
    const std::vector<double> expected = target.memory;
    target.memory = before;
    const auto launches = plan_device_fused(target.view, steps);
    CHECK(launches.size() == 2);  // max_sets
    CHECK(launches[0].table.size() == static_cast<std::size_t>(3 * (n + 300)));
    fallbacks.run(launches);
    for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(same_bits(expected[i], target.memory[i]));
  }
}

TEST_CASE("blocks without elements, chains without steps and single elements") {
  MutableView t;
  double x = 2.0;
  t.data = &x;
  CHECK(plan_device_fused(t, {}).empty());
  const std::vector<FusedStep> scale = {{FusedOp::scale, 3.0, {}, {}, nullptr}};
  CHECK(plan_device_fused(t, scale).size() == 1);
  t.rank = 2;
  t.extent = {5, 0, 1, 1, 1, 1, 1, 1};
  t.stride = {1, 5, 0, 0, 0, 0};
  CHECK(plan_device_fused(t, scale).empty());
  ConstView c;
  c.data = &x, c.rank = t.rank, c.extent = t.extent, c.stride = t.stride, c.label = {1, 2};
  const DotPlan nothing(c, c);
  CHECK(nothing.scratch.size() == 2);
  REQUIRE(nothing.launches.size() == 1);
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  fallbacks.run(nothing.launches);
  CHECK(nothing.scratch[0] == 0.0);
  fallbacks.run(plan_device_fused(MutableView{&x, 0, {}, {}, {}}, scale));
  CHECK(x == 6.0);
}

TEST_CASE(
    "more than 2^31 elements make several launches that cover them, and far operands are addressed with 64 bits") {
  double* const base = reinterpret_cast<double*>(std::uintptr_t{1} << 40);
  for (const bool transposed : {false, true}) {
    MutableView t;
    t.data = base;
    t.rank = 3;
    t.extent = {70000, 70000, 3, 1, 1, 1};
    t.stride = {1, 70000, 4'900'000'000, 0, 0, 0};
    FusedStep copy{FusedOp::copy, 0.0, {base + (std::int64_t{1} << 36), {1, 70000, 4'900'000'000}}, {}, nullptr};
    if (transposed) std::swap(copy.a.stride[0], copy.a.stride[1]);
    std::int64_t elements = 0;
    std::set<const double*> begins;
    for (const DeviceLaunch& l : plan_device_fused(t, std::span(&copy, 1))) {
      DeviceFusedCode code;
      REQUIRE(read_device_fused_key(l.key, code));
      CHECK(code.wide);
      CHECK((code.box_dims > 0) == transposed);
      DeviceHead head;
      std::memcpy(&head, l.arguments.data(), sizeof head);
      begins.insert(head.target);
      std::int64_t n = code.pairs ? 2 : 1;
      for (int d = 0; d < code.dims; ++d) {
        DeviceDim dim;
        std::memcpy(&dim, l.arguments.data() + DeviceFusedLayout(code).dims + sizeof dim * static_cast<std::size_t>(d),
                    sizeof dim);
        n *= dim.extent;
      }
      elements += n;
    }
    CHECK(elements == std::int64_t{70000} * 70000 * 3);
    CHECK(begins.size() >= 7);
  }
}

TEST_CASE("operands further away than 32 bits reach are met") {
  HostFallbacks fallbacks;
  NEEDS_FALLBACKS(fallbacks);
  // A matrix whose columns lie 2^31 elements apart, in memory of which only what is touched exists.
  const std::int64_t apart = (std::int64_t{1} << 31) + 7, rows = 40, columns = 20;
  const std::size_t bytes = static_cast<std::size_t>(apart * columns) * 8;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    WARN("no " << bytes << " bytes of addresses here: skipped");
    return;
  }
  double* far = static_cast<double*>(memory);
  Numbers numbers(4);
  const Setting s{2, {rows, columns, 1, 1, 1, 1, 1, 1}, rows * columns};
  DeviceOperand near(numbers, 2, s.extent, {1, 0}, {});
  MutableView t;
  t.data = far, t.rank = 2, t.extent = {rows, columns, 1, 1, 1, 1, 1, 1}, t.stride = {1, apart, 0, 0, 0, 0},
  t.label = {0, 1};
  std::vector<FusedStep> step(1);
  step[0].op = FusedOp::copy;
  REQUIRE(fused_source(t, near.read(), step[0].a));
  fallbacks.run(plan_device_fused(t, step));  // into far memory
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) REQUIRE(far[i + j * apart] == near.view.data[j + i * columns]);
  ConstView c;
  c.data = far, c.rank = 2, c.extent = t.extent, c.stride = t.stride, c.label = t.label;
  const std::vector<double> before = near.memory;
  for (double& x : near.memory) x = 0.0;
  REQUIRE(fused_source(near.view, c, step[0].a));
  fallbacks.run(plan_device_fused(near.view, step));  // and from there
  for (std::int64_t k = 0; k < rows * columns; ++k)
    REQUIRE(near.view.data[k] == before[static_cast<std::size_t>(k) + 32]);
  const DotPlan dot(c, near.read());
  fallbacks.run(dot.launches);
  CHECK(dot.scratch[0] == Approx(plain_dot(c, near.read())).epsilon(1e-13));
  bool wide = false;
  for (const CodeKey& key : fallbacks.keys)
    if (DeviceFusedCode code; read_device_fused_key(key, code)) wide |= code.products && code.wide;
  CHECK(wide);
  munmap(memory, bytes);
}

TEST_CASE("divisors divide all that they may be asked to") {
  Numbers numbers(9);
  const auto check = [](std::uint32_t n, std::uint32_t d) {
    const DeviceDivisor by = device_divisor(d);
    const std::uint32_t quotient =
        d < 2 ? n : static_cast<std::uint32_t>((std::uint64_t{n} * by.magic) >> 32) >> by.shift;
    if (quotient != n / d) FAIL(n << " / " << d << " became " << quotient);
  };
  constexpr std::uint32_t most = 0x7fffffff;
  for (std::uint32_t d = 1; d < 3000; ++d)
    for (const std::uint32_t n : {0u, 1u, d - 1, d, d + 1, most, most - 1, most / d * d, most / d * d - 1}) check(n, d);
  for (int k = 0; k < 200000; ++k) {
    const auto d = 1 + static_cast<std::uint32_t>(numbers.below(most)) >> numbers.below(31);
    check(static_cast<std::uint32_t>(numbers.below(most)), std::max(1u, d));
  }
}

TEST_CASE("keys of GPU kernels and their names say what they were made of, and others are refused") {
  Numbers choose(2);
  for (int k = 0; k < 20000; ++k) {
    DeviceFusedCode code;
    code.dims = 1 + static_cast<int>(choose.below(6));
    code.wide = choose.below(2) == 0;
    code.unrolled = choose.below(2) == 0;
    int transposed = 0;
    for (std::int64_t n = 1 + choose.below(8); n > 0; --n) {
      DeviceStep s;
      s.op = static_cast<FusedOp>(choose.below(9));
      const auto form = [&] {
        const auto f = static_cast<DeviceForm>(1 + choose.below(3));
        return f == DeviceForm::transposed && ++transposed > 2 ? DeviceForm::direct : f;
      };
      if (s.op == FusedOp::copy || s.op == FusedOp::scaled_copy || s.op == FusedOp::accumulate || s.op == FusedOp::sum)
        s.a = form();
      if (s.op == FusedOp::sum) s.b = form();
      if (s.op == FusedOp::divide || s.op == FusedOp::multiply)
        s.a = DeviceForm::energies, s.set = static_cast<int>(choose.below(3)), code.rank = 4;
      code.steps.push_back(s);
    }
    if (code.transposed() > 0) {
      code.box_dims = 1 + static_cast<int>(choose.below(code.dims));
      code.row_dims = static_cast<int>(choose.below(code.box_dims));
      for (std::size_t n = 0; n < static_cast<std::size_t>(code.transposed()); ++n)
        code.transposed_row_dims[n] = static_cast<int>(choose.below(code.box_dims));
    } else {
      code.pairs = choose.below(2) == 0;
    }
    code.products = code.steps.size() == 1 && code.steps[0].op == FusedOp::copy && !code.pairs && choose.below(2) == 0;
    if (code.rank > 0) {
      code.energy_units = static_cast<int>(choose.below(9));
      code.dim_of.fill(-1);
      for (std::size_t d = 0; d < 4; ++d) code.dim_of[d] = static_cast<std::int8_t>(choose.below(code.dims + 1) - 1);
    }
    const CodeKey key = device_fused_key(code);
    DeviceFusedCode back;
    REQUIRE(read_device_fused_key(key, back));
    REQUIRE(back == code);
    CodeKey named;
    REQUIRE(code_key_of(code_name(key), named));
    REQUIRE(named == key);
    CodeKey other = key;
    other.p[static_cast<std::size_t>(choose.below(10))] = choose.below(2) == 0 ? -1 : 0x7fffffff;
    CHECK_FALSE(read_device_fused_key(other, back));
  }
  CodeKey key;
  for (const char* name : {"", "gpuchain", "gpuchain_1", "nothing_0_0_0_0_0_0_0_0_0_0", "tile_0_0_0_0_0_0_0_0_0_0_0",
                           "tile_0_0_0_0_0_0_0_0_0_x", "tile_00_0_0_0_0_0_0_0_0_0", "tile_m0_0_0_0_0_0_0_0_0_0",
                           "tile_99999999999_0_0_0_0_0_0_0_0_0", "tile_2147483648_0_0_0_0_0_0_0_0_0"})
    CHECK_FALSE(code_key_of(name, key));
  for (const CodeKey& k : {CodeKey{CodeKind::tile, {3, -4}}, CodeKey{CodeKind::transpose, {1}},
                           CodeKey{CodeKind::pack, {-2147483647 - 1}}, CodeKey{CodeKind::device_sum, {}}}) {
    REQUIRE(code_key_of(code_name(k), key));
    CHECK(key == k);
  }
}
