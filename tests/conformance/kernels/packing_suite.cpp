// Packing: every built-in code against what PackWork says, and which tiles may be packed together.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"
#include "tests/conformance/kernels/cases.h"

using namespace sial;
using namespace sial::kernel_cases;

TEST_CASE("panels are packed alike by every built-in code, whole ones and others, and nothing beside them is touched") {
  const kernels::CpuFacts here = kernels::processor_facts();
  std::vector<kernels::TileKernels> kits;
  for (const int bits : {0, 256, 512}) {
    kernels::CpuFacts facts = here;
    facts.fma = here.fma && bits > 0;
    facts.vector_bits = std::min(here.vector_bits, std::max(bits, 128));
    kits.push_back(kernels::builtin_tiles(facts));
  }
  std::mt19937 random(20261123);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  // Places in runs of consecutive ones, as tables of fused dimensions have them.
  const auto places = [&](std::int64_t n, std::int64_t longest) {
    std::vector<std::int64_t> at;
    for (std::int64_t next = 0; static_cast<std::int64_t>(at.size()) < n; next += draw(0, 40))
      for (std::int64_t run = draw(1, longest); run > 0 && static_cast<std::int64_t>(at.size()) < n; --run)
        at.push_back(next++);
    return at;
  };
  constexpr double untouched = -77.0;
  for (int i = 0; i < 4000; ++i) {
    const kernels::TileKernels& table = kits[static_cast<std::size_t>(i) % kits.size()];
    const bool beside = table.pack_beside && draw(0, 3) == 0, of_columns = !beside && draw(0, 1) == 0;
    const std::int64_t panels = beside ? draw(table.shape.width, 30) : 1;
    kernels::PackWork w;
    w.rows =
        draw(1, of_columns ? kernels::TileKernels::max_columns : table.shape.width * kernels::TileKernels::max_vectors);
    w.width = of_columns ? w.rows : (w.rows + table.shape.width - 1) / table.shape.width * table.shape.width;
    w.count = draw(0, 40);
    const std::vector<std::int64_t> row_at = places(w.rows, draw(0, 2) == 0 ? 1 : 40),
                                    sum_at = places(w.count, draw(0, 2) == 0 ? 1 : 40);
    // Nothing is read beyond the last element.
    std::vector<double> from(static_cast<std::size_t>(row_at.back() + (sum_at.empty() ? 0 : sum_at.back()) + panels));
    for (std::size_t k = 0; k < from.size(); ++k) from[k] = static_cast<double>(k) + 1;
    std::vector<double> to(static_cast<std::size_t>(w.width * w.count * panels + 16), untouched), want = to;
    w.from = from.data();
    w.row_at = row_at.data();
    w.sum_at = sum_at.data();
    w.to = to.data() + 8;
    for (std::int64_t n = 0; n < panels; ++n)
      for (std::int64_t p = 0; p < w.count; ++p)
        for (std::int64_t r = 0; r < w.width; ++r)
          want[static_cast<std::size_t>(8 + (n * w.count + p) * w.width + r)] =
              r < w.rows ? from[static_cast<std::size_t>(row_at[static_cast<std::size_t>(r)] +
                                                         sum_at[static_cast<std::size_t>(p)] + n)]
                         : 0.0;
    if (beside) table.pack_beside(w, panels);
    else kernels::pack_panel(table, w);
    INFO("case " << i << ": " << w.rows << " rows of " << w.width << ", " << w.count << " positions, " << panels
                 << " panels, vectors of " << table.shape.width);
    REQUIRE(to == want);
  }
}

// Tiles of one long run, whose rows lie in several dimensions of the operand, look equally far apart at their first
// rows.
TEST_CASE("tiles are packed beside each other only where all of their rows lie so") {
  CountingResource workspace;
  auto reference = make_kernels("reference", workspace);
  const auto check = [&](const std::string& d, const std::string& a, const std::map<char, std::int64_t>& extents,
                         const KernelOptions& options) {
    const auto shape = [&](const std::string& labels) {
      Shape result;
      result.rank = static_cast<std::int32_t>(labels.size());
      for (std::size_t i = 0; i < labels.size(); ++i) result.extent[i] = extents.at(labels[i]);
      return result;
    };
    const auto labels = [](const std::string& text) {
      std::array<std::int32_t, max_rank> result{};
      std::copy(text.begin(), text.end(), result.begin());
      return result;
    };
    const auto filled = [&](const std::string& text) {
      std::vector<double> data(static_cast<std::size_t>(shape(text).size()));
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i % 997) - 400;
      return data;
    };
    std::vector<double> of_a = filled(a), of_b = filled("pj"), found = filled(d), want = found;
    BlockOp op;
    op.has_b = true;
    op.beta = 1.0;
    op.a = dense_view<const double>(of_a.data(), shape(a), labels(a));
    op.b = dense_view<const double>(of_b.data(), shape("pj"), labels("pj"));
    op.d = dense_view(want.data(), shape(d), labels(d));
    reference->run(op);
    op.d.data = found.data();
    make_kernels("auto", workspace, options)->run(op);
    INFO(d << " from " << a << ", i " << extents.at('i') << ", k " << extents.at('k') << ", l " << extents.at('l')
           << ", `" << options.strategy << "`, " << options.threads << " threads");
    REQUIRE(found == want);
  };
  KernelOptions options;
  options.jit = false;
  for (const std::string cpu : {"", "x86-64-v3"}) {
    if (!cpu.empty() && !kernels::processor_runs(cpu)) continue;
    options.jit_cpu = cpu;
    options.threads = 1;
    for (const std::string strategy : {"", "packed", "packed by lines"}) {
      options.strategy = strategy;
      for (const std::int64_t i : {5, 8, 12, 16, 24, 32, 48})
        for (const std::int64_t k : {2, 5, 9})
          for (const std::int64_t l : {2, 3, 4})
            for (const std::int64_t m : {2, 4}) {
              check("iklmj", "kmlip", {{'i', i}, {'k', k}, {'l', l}, {'m', m}, {'j', 2}, {'p', 5}}, options);
              check("iklmj", "klmip", {{'i', i}, {'k', k}, {'l', l}, {'m', m}, {'j', 7}, {'p', 3}}, options);
            }
    }
    // Parts of threads begin within runs.
    for (const std::string strategy : {"", "packed"})
      for (options.threads = 2; options.threads <= 7; ++options.threads)
        for (const std::int64_t i : {12, 24, 32}) {
          options.strategy = strategy;
          check("iklj", "kpil", {{'i', i}, {'k', 9}, {'l', 4}, {'j', 79}, {'p', 60}}, options);
          check("iklj", "kpil", {{'i', i}, {'k', 40}, {'l', 3}, {'j', 13}, {'p', 90}}, options);
        }
  }
}
