// Permuted copies against combine(), bit for bit: random ranks, orders, extents, parts of larger arrays, factors,
// blocks transposed in place and assembled by cache blocks, built-in, portable and generated code. Memory around the
// operands holds canaries.

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/permute/permute.h"
#include "tests/conformance/kernels/case_count.h"

using namespace sial::kernels;

namespace {

constexpr double canary = -7.25e77;
constexpr std::int64_t margin = 24;

struct Pair {
  std::vector<PairDim> dims;
  std::vector<double> x, y;
  std::int64_t x_at = margin, y_at = margin;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  std::mt19937_64& engine() { return random_; }
  bool chance(int percent) { return below(100) < percent; }

  double value() {
    return std::ldexp(static_cast<double>(below(1 << 30)) - (1 << 29), static_cast<int>(below(40)) - 20);
  }

  std::int64_t extent(std::int64_t room) {
    static constexpr std::int64_t known[] = {1,  2,  3,  4,  5,  7,  8,  11,  13,  16, 17,
                                             25, 31, 32, 40, 57, 64, 97, 131, 200, 333};
    if (chance(1)) return 0;
    std::int64_t e = 0;
    do e = known[below(std::size(known))];
    while (e > room);
    return e;
  }

  /// Strides of an operand that holds the dimensions in some order, perhaps with gaps; `first` is set to where it
  /// begins.
  std::int64_t lay_out(std::vector<PairDim>& dims, std::int64_t PairDim::* stride, std::int64_t& first) {
    std::vector<std::size_t> order(dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    const bool part = chance(40);
    std::int64_t step = part && chance(15) ? 2 + below(3) : 1, size = 1;
    for (const std::size_t k : order) {
      dims[k].*stride = step;
      size += std::max<std::int64_t>(0, dims[k].extent - 1) * step;
      step *= std::max<std::int64_t>(1, dims[k].extent) + (part ? below(4) : 0);
    }
    first = margin + below(9);
    return size;
  }

  Pair pair(std::int64_t most) {
    Pair p;
    const std::int64_t rank = 1 + below(sial::max_rank);
    std::int64_t room = most;
    for (std::int64_t k = 0; k < rank; ++k) {
      const std::int64_t e = extent(room);
      room /= std::max<std::int64_t>(1, e);
      p.dims.push_back({e, 0, 0});
    }
    std::shuffle(p.dims.begin(), p.dims.end(), random_);
    const std::int64_t nx = lay_out(p.dims, &PairDim::x, p.x_at), ny = lay_out(p.dims, &PairDim::y, p.y_at);
    p.x.assign(static_cast<std::size_t>(p.x_at + nx + margin), canary);
    p.y.resize(static_cast<std::size_t>(p.y_at + ny));  // nothing behind it: address checkers see reads past the end
    for (double& v : p.y) v = value();
    return p;
  }

 private:
  std::mt19937_64 random_;
};

/// Writes to every position of the target.
template <class F>
void fill(Pair& p, F f) {
  std::vector<std::int64_t> at(p.dims.size(), 0);
  for (const PairDim& dim : p.dims)
    if (dim.extent == 0) return;
  std::int64_t x = p.x_at;
  for (;;) {
    p.x[static_cast<std::size_t>(x)] = f();
    std::size_t k = 0;
    for (; k < at.size(); ++k) {
      x += p.dims[k].x;
      if (++at[k] < p.dims[k].extent) break;
      x -= p.dims[k].x * p.dims[k].extent;
      at[k] = 0;
    }
    if (k == at.size()) return;
  }
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

std::string describe(const Pair& p, double alpha, double beta) {
  std::string text = "alpha " + std::to_string(alpha) + " beta " + std::to_string(beta) + ":";
  for (const PairDim& dim : p.dims)
    text += " " + std::to_string(dim.extent) + " (" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ")";
  return text;
}

void check_case(Permuter& permuter, Pair p, Generator& random) {
  static constexpr double alphas[] = {1.0, 1.0, -1.0, 0.1, 0.0}, betas[] = {0.0, 0.0, 1.0, -0.3, 2.5};
  const double alpha = alphas[random.below(std::size(alphas))], beta = betas[random.below(std::size(betas))];
  fill(p, [&] { return beta == 0.0 ? std::numeric_limits<double>::quiet_NaN() : random.value(); });
  std::vector<double> expected = p.x;
  const std::vector<double> source = p.y;
  combine(expected.data() + p.x_at, p.y.data() + p.y_at, p.dims, alpha, beta);
  permuter.run(p.x.data() + p.x_at, p.y.data() + p.y_at, p.dims, alpha, beta);
  INFO(describe(p, alpha, beta));
  REQUIRE(same_bits(p.y, source));
  REQUIRE(same_bits(p.x, expected));
}

PermuteLimits limits(std::int64_t assembled_bytes, bool generated = false) {
  PermuteLimits l;
  l.assembled_bytes = assembled_bytes;
  l.plain_volume = 0;
  l.prefer_generated = generated;
  return l;
}

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

void check_many(Permuter& permuter, std::uint64_t seed, int n) {
  Generator random(seed);
  for (int i = 0; i < sial::kernel_cases::case_count(n); ++i)
    check_case(permuter, random.pair(i % 10 == 0 ? 60000 : 3000), random);
}

/// Targets in whole lines.
void check_streams(Permuter& streams, Permuter& panels) {
  static_assert(margin % 8 == 0);
  Generator random(18);
  const std::vector<std::vector<std::int64_t>> shapes = {{16, 24, 40},    {8, 1, 7, 48, 3},   {64, 5, 72, 9},
                                                         {8, 8, 8, 8, 8}, {40, 3, 16, 2, 24}, {200, 136},
                                                         {8, 4096},       {16, 16, 3, 32},    {65536}};
  for (const auto& shape : shapes)
    for (int i = 0; i < 40; ++i) {
      Pair p;
      for (const std::int64_t e : shape) p.dims.push_back({e, 0, 0});
      const std::int64_t ny = random.lay_out(p.dims, &PairDim::y, p.y_at);
      // The fastest dimension of the target is a multiple of a line; rows may lie further apart than they are long.
      std::shuffle(p.dims.begin(), p.dims.end(), random.engine());
      const auto lines =
          std::find_if(p.dims.begin(), p.dims.end(), [](const PairDim& dim) { return dim.extent % 8 == 0; });
      std::iter_swap(p.dims.begin(), lines);
      std::int64_t step = 1, nx = 1;
      for (PairDim& dim : p.dims) {
        dim.x = step;
        nx += (dim.extent - 1) * step;
        step *= dim.extent + (random.chance(20) ? 8 : 0);
        step += (8 - step % 8) % 8;
      }
      p.x.assign(static_cast<std::size_t>(nx + 2 * margin + 8), canary);
      p.x_at = margin +
               (8 - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p.x.data()) / sizeof(double) % 8)) % 8;
      p.y.resize(static_cast<std::size_t>(p.y_at + ny));
      for (double& v : p.y) v = random.value();
      check_case(panels, p, random);
      check_case(streams, std::move(p), random);  // as it is: a copy would lie elsewhere in a line
    }
}

}  // namespace

TEST_CASE("permutations of panels equal plain loops", "[permute]") {
  Permuter permuter(nullptr, limits(never));
  check_many(permuter, 11, 3000);
}

TEST_CASE("permutations by cache_blocks equal plain loops", "[permute]") {
  Permuter permuter(nullptr, limits(1));
  check_many(permuter, 12, 3000);
}

TEST_CASE("every order of four dimensions", "[permute]") {
  Generator random(13);
  Permuter panels(nullptr, limits(never)), cache_blocks(nullptr, limits(1));
  for (const std::int64_t n : {2, 3, 4, 9, 16, 17}) {
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
      Pair p;
      p.dims.resize(4);
      std::int64_t step = 1;
      for (std::size_t k = 0; k < 4; ++k, step *= n) {
        p.dims[k].extent = n;
        p.dims[k].x = step;
        p.dims[order[k]].y = step;
      }
      p.x.assign(static_cast<std::size_t>(step + 2 * margin), canary);
      p.y.resize(p.x.size());
      for (double& v : p.y) v = random.value();
      check_case(panels, p, random);
      check_case(cache_blocks, p, random);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("long rows, many cache_blocks", "[permute]") {
  Generator random(14);
  Permuter panels(nullptr, limits(never)), cache_blocks(nullptr, limits(1));
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1000, 57}, {57, 1000}, {700, 700},   {129, 3, 131}, {3, 40000},  {160, 161, 5}, {2, 2, 2, 2, 2, 5000},
      {100000},   {256, 256}, {48, 48, 48}, {130, 4, 256}, {512, 9, 40}};
  for (const auto& shape : shapes)
    for (int i = 0; i < 6; ++i) {
      Pair p;
      for (const std::int64_t e : shape) p.dims.push_back({e, 0, 0});
      const std::int64_t nx = random.lay_out(p.dims, &PairDim::x, p.x_at),
                         ny = random.lay_out(p.dims, &PairDim::y, p.y_at);
      p.x.assign(static_cast<std::size_t>(p.x_at + nx + margin), canary);
      p.y.resize(static_cast<std::size_t>(p.y_at + ny));
      for (double& v : p.y) v = random.value();
      check_case(panels, p, random);
      check_case(cache_blocks, p, random);
    }
}

TEST_CASE("what is stored non-temporally without a buffer", "[permute]") {
  if (!builtin_permute(processor_facts()).streams) return;
  Permuter permuter(nullptr, limits(1));
  std::vector<double> x(40 * 40 * 40 + 16), y(x.size(), 1.0);
  double* const line = x.data() + (8 - reinterpret_cast<std::uintptr_t>(x.data()) / sizeof(double) % 8) % 8;
  const std::vector<PairDim> transposed = {{40, 1, 1600}, {40, 40, 40}, {40, 1600, 1}},
                             lines = {{40, 1, 1}, {40, 40, 1600}, {40, 1600, 40}};
  using Method = Permuter::Method;
  for (const auto& dims : {transposed, lines}) {
    CHECK(permuter.run(line, y.data(), dims, 1.0, 0.0) == Method::streams);
    CHECK(permuter.run(line, y.data() + 3, dims, -2.0, 0.0) == Method::streams);
    CHECK(permuter.run(line + 1, y.data(), dims, 1.0, 0.0) ==
          Method::cache_blocks);                                                  // lines of the target are not whole
    CHECK(permuter.run(line, y.data(), dims, 1.0, 1.0) == Method::cache_blocks);  // the target is read
  }
  std::vector<PairDim> odd = transposed;
  odd.front().extent = 39;
  CHECK(permuter.run(line, y.data(), odd, 1.0, 0.0) == Method::cache_blocks);
  odd = {{40, 1, 1600}, {40, 44, 40}, {30, 1760, 1}};
  CHECK(permuter.run(line, y.data(), odd, 1.0, 0.0) == Method::cache_blocks);
}

TEST_CASE("blocks whose lines crowd the caches on both sides leave them at half the size", "[permute]") {
  if (!builtin_permute(processor_facts()).streams) return;
  using Method = Permuter::Method;
  // x[ba] = y[ab], columns of either side so far apart.
  const auto way = [](std::int64_t x_apart, std::int64_t y_apart, std::int64_t limit) {
    constexpr std::int64_t n = 512, bytes = 2 * n * n * static_cast<std::int64_t>(sizeof(double));
    std::vector<double> x(static_cast<std::size_t>(n * x_apart + 8)), y(static_cast<std::size_t>(n * y_apart), 1.0);
    double* const line = x.data() + (8 - reinterpret_cast<std::uintptr_t>(x.data()) / sizeof(double) % 8) % 8;
    Permuter permuter(nullptr, limits(bytes * limit / 4));
    return permuter.run(line, y.data(), {{n, 1, y_apart}, {n, x_apart, 1}}, 1.0, 0.0);
  };
  CHECK(way(512, 512, 8) == Method::streams);
  CHECK(way(512, 512, 9) == Method::panels);
  for (const auto& [x_apart, y_apart] :
       {std::pair(520, 512), std::pair(512, 520), std::pair(768, 768), std::pair(520, 520)}) {
    CHECK(way(x_apart, y_apart, 4) == Method::streams);
    CHECK(way(x_apart, y_apart, 5) == Method::panels);
  }
}

TEST_CASE("targets in whole lines equal plain loops", "[permute]") {
  Permuter streams(nullptr, limits(1)), panels(nullptr, limits(never));
  check_streams(streams, panels);
}

TEST_CASE("code for narrower processors permutes like any other", "[permute]") {
  for (const std::string cpu : {"x86-64-v2", "x86-64-v3"}) {
    if (!processor_runs(cpu)) continue;
    // An engine for an older processor makes the built-in code choose its narrower form.
    const auto engine = make_code_engine({false, false, cpu, ""});
    Permuter panels(engine.get(), limits(never)), large(engine.get(), limits(1));
    check_many(panels, 15, 1000);
    check_many(large, 15, 1000);
    check_streams(large, panels);
  }
}

TEST_CASE("generated code permutes like any other", "[permute]") {
  for (const std::string cpu : {"", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (!cpu.empty() && !processor_runs(cpu)) continue;
    const auto engine = make_code_engine({true, true, cpu, ""});
    // Without a code generator the built-in code runs once more.
    Permuter panels(engine.get(), limits(never, true)), cache_blocks(engine.get(), limits(1, true));
    check_many(panels, 16, 1000);
    check_many(cache_blocks, 17, 1000);
    const CodeStats stats = engine->stats();
    INFO("processor " << cpu << ": " << stats.state);
    if (stats.state == "on") {
      REQUIRE(stats.failed == 0);
      REQUIRE(stats.compiled + stats.from_disk == 15);
    }
  }
}

namespace {

/// Pieces of all lengths, anywhere in a line, and how much of the list of what is read next they took.
void check_pieces(PieceCode code) {
  std::vector<double> memory(96), piece(96), soon(512);
  std::vector<std::int32_t> list(512);
  std::iota(list.begin(), list.end(), 0);
  std::iota(piece.begin(), piece.end(), 1.0);
  double* line = memory.data();
  while (reinterpret_cast<std::uintptr_t>(line) % 64 != 0) ++line;
  for (std::int64_t before = 0; before < 8; ++before)
    for (std::int64_t count = 0; count < 60; ++count)
      for (const std::int64_t per_line : {1, 3}) {
        CAPTURE(before, count, per_line);
        std::fill(memory.begin(), memory.end(), canary);
        PieceWork w;
        w.x = line + before;
        w.piece = piece.data();
        w.count = count;
        w.y_soon = soon.data();
        w.at = list.data();
        w.at_end = list.data() + 11;
        w.per_line = per_line;
        double* const x = w.x;
        code(&w);
        complete_streams();
        bool right = true;
        for (std::int64_t i = 0; i < count; ++i) right = right && x[i] == piece[static_cast<std::size_t>(i)];
        for (double* at = memory.data(); at < x; ++at) right = right && *at == canary;
        for (double* at = x + count; at < memory.data() + memory.size(); ++at) right = right && *at == canary;
        CHECK(right);
        const std::int64_t whole = std::max<std::int64_t>(0, count - (8 - before) % 8) / 8, taken = w.at - list.data();
        CHECK(taken >= std::min<std::int64_t>(11, whole * per_line));
        CHECK(taken <= std::min<std::int64_t>(11, (whole + 2) * per_line));
      }
}

}  // namespace

TEST_CASE("pieces are written as they are while the next operands are fetched", "[permute]") {
  check_pieces(Permuter().piece_code(1));
  check_pieces(portable_permute().piece[static_cast<std::size_t>(Blend::copy)]);
  for (const std::string cpu : {"", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (!cpu.empty() && !processor_runs(cpu)) continue;
    const auto engine = make_code_engine({true, true, cpu, ""});
    const auto code = reinterpret_cast<PieceCode>(engine->wait(permute_key(PermuteRole::piece, Blend::copy)));
    if (code) check_pieces(code);
  }
}
