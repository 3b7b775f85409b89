// Permuted copies against memcpy of the same size in the same run: all orders of four dimensions, some of three, five
// and six, scaled and accumulating forms (which move three blocks, not two). Prints a table and, as the last line,
// JSON. Fractions are of memcpy's bandwidth, each the best of several, taken in turns; "in order" is -y by the same
// code: memcpy may write lines without having read them, which programs can only do by non-temporal stores.
// `bench_permute [seconds per case] [only cases whose name contains this] [generated|x86-64-v3|x86-64-v2]`, the last to
// use generated code where built-in code is as good, or that of older processors.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/kernels/permute/permute.h"
#include "tests/bench/kernels/cases_permute.h"

using namespace sial::kernels;

namespace {

using Clock = std::chrono::steady_clock;

template <class F>
double seconds(F&& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const double budget = argc > 1 ? std::atof(argv[1]) : 0.2;
  const std::string only = argc > 2 ? argv[2] : "";
  std::shared_ptr<CodeEngine> engine;
  PermuteLimits limits;
  const std::string code = argc > 3 ? argv[3] : "";
  if (!code.empty()) {
    CodeOptions options;
    limits.prefer_generated = code == "generated";
    options.on = options.at_once = limits.prefer_generated;
    if (!options.on) options.cpu = code;
    engine = make_code_engine(options);
  }
  Permuter permuter(engine.get(), limits);
  std::string json;
  std::map<std::string, std::vector<double>> groups;
  std::vector<double> x, y;
  fmt::print("processor: {}\n", sial::describe_processor());
  fmt::print("{:8} {:34} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "group", "case", "MB", "GB/s", "in order", "memcpy",
             "fraction");
  for (const bench::PermuteCase& c : bench::permute_cases()) {
    if ((c.group + " " + c.name).find(only) == std::string::npos) continue;
    const std::size_t rank = c.extents.size();
    std::vector<std::int64_t> y_stride(rank);
    std::int64_t volume = 1;
    for (std::size_t k = 0; k < rank; volume *= c.extents[k++]) y_stride[k] = volume;
    std::vector<PairDim> dims;
    std::int64_t step = 1;
    for (const int k : c.order) {
      const auto i = static_cast<std::size_t>(k);
      dims.push_back({c.extents[i], step, y_stride[i]});
      step *= c.extents[i];
    }
    // As blocks of a pool lie: on lines of the cache, not on pages.
    constexpr std::int64_t apart = 264;
    const auto size = static_cast<std::size_t>(volume);
    if (x.size() < size + 2 * apart) x.assign(size + 2 * apart, 0.0), y.assign(size + 2 * apart, 1.0);
    const auto on_line = [](double* p) { return p + (64 - reinterpret_cast<std::uintptr_t>(p) % 64) % 64 / 8; };
    double* to = on_line(x.data());
    double* from = on_line(y.data()) + apart;
    double own = 1e30, copy = 1e30, in_order = 1e30;
    // Twice in turn each: a block that fits the cache is then met there by both.
    const int in_turn = size < 2'000'000 ? 4 : 2;
    const auto begin = Clock::now();
    do {
      for (int i = 0; i < in_turn; ++i)
        own = std::min(own, seconds([&] { permuter.run(to, from, dims, c.alpha, c.beta); }));
      for (int i = 0; i < in_turn; ++i)
        copy = std::min(copy, seconds([&] { std::memcpy(to, from, size * sizeof(double)); }));
      for (int i = 0; i < in_turn; ++i)
        in_order = std::min(in_order, seconds([&] { permuter.run(to, from, {{volume, 1, 1}}, -1.0, 0.0); }));
    } while (std::chrono::duration<double>(Clock::now() - begin).count() < budget);
    // What is added to is read as well.
    const double bytes = 16e-9 * static_cast<double>(volume), moved = c.beta == 0.0 ? bytes : bytes * 1.5;
    const double fraction = moved / own / (bytes / copy);
    fmt::print("{:8} {:34} {:8.1f} {:8.1f} {:8.1f} {:8.1f} {:8.2f}\n", c.group, c.name, bytes * 500, moved / own,
               bytes / in_order, bytes / copy, fraction);
    json += fmt::format(
        "{}{{\"group\": \"{}\", \"case\": \"{}\", \"gb_per_s\": {:.2f}, \"in_order_gb_per_s\": {:.2f}, \"memcpy_gb_per_s\": {:.2f}, \"fraction\": {:.3f}}}",
        json.empty() ? "" : ", ", c.group, c.name, moved / own, bytes / in_order, bytes / copy, fraction);
    groups[c.group].push_back(fraction);
  }
  std::string means;
  std::vector<double> all;
  const auto mean = [](const std::vector<double>& v) {
    return std::exp(std::accumulate(v.begin(), v.end(), 0.0, [](double sum, double f) { return sum + std::log(f); }) /
                    static_cast<double>(v.size()));
  };
  for (const auto& [group, fractions] : groups) {
    const double least = *std::min_element(fractions.begin(), fractions.end());
    fmt::print("{:8} {} cases: geometric mean {:.3f}, least {:.3f}\n", group, fractions.size(), mean(fractions), least);
    means += fmt::format("\"{}\": {{\"geometric_mean\": {:.3f}, \"least\": {:.3f}}}, ", group, mean(fractions), least);
    all.insert(all.end(), fractions.begin(), fractions.end());
  }
  if (all.empty()) return 1;
  fmt::print("{{\"geometric_mean\": {:.3f}, \"least\": {:.3f}, \"groups\": {{{}}}, \"results\": [{}]}}\n", mean(all),
             *std::min_element(all.begin(), all.end()), means.substr(0, means.size() - 2), json);
}
