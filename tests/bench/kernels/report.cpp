#include "tests/bench/kernels/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace bench {
namespace {

/// Published geometric means (GFLOP/s) on a core whose dgemm runs at 94: the best public library, the GEMM part of
/// TTGT, and our target.
struct Published {
  const char* group;
  double library, gemm_part, target;
};
constexpr double published_peak = 94.0;
const Published published[] = {
    {"intensli", 14, 25, 1.15 * 14}, {"ao2mo", 50, 32, 1.15 * 50}, {"ccsd", 84, 88, 88},
    {"ccsd_t", 28, 30, 1.15 * 28},   {"all", 40, 0, 48},
};

double geometric_mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (double v : values) sum += std::log(v);
  return values.empty() ? 0.0 : std::exp(sum / static_cast<double>(values.size()));
}

template <class F>
std::vector<double> collect(const std::vector<Result>& results, const std::function<bool(const Result&)>& wanted,
                            F&& value) {
  std::vector<double> values;
  for (const Result& r : results)
    if (wanted(r))
      if (const double v = value(r); v > 0.0) values.push_back(v);
  return values;
}

/// Seconds that neither the arithmetic units nor the memory bus allow to beat.
double limit(const Result& r, const Setup& setup) {
  return std::max(r.seconds.at("memcpy"), 1e-9 * r.flops / setup.peak);
}
bool memory_bound(const Result& r, const Setup& setup) { return r.seconds.at("memcpy") > 1e-9 * r.flops / setup.peak; }

std::vector<std::string> groups_of(const std::vector<Result>& results) {
  std::vector<std::string> groups;
  for (const Result& r : results)
    if (std::find(groups.begin(), groups.end(), r.shape.group) == groups.end()) groups.push_back(r.shape.group);
  return groups;
}

std::vector<std::string> settings_of(const std::vector<Result>& results) {
  std::vector<std::string> settings;
  for (const Result& r : results)
    if (std::find(settings.begin(), settings.end(), r.shape.setting) == settings.end())
      settings.push_back(r.shape.setting);
  return settings;
}

std::int64_t longest(const Result& r) {
  std::int64_t n = 0;
  for (const auto& [label, extent] : r.shape.extent) n = std::max(n, extent);
  return n;
}

std::string number(double v, const char* format = "{:8.1f}") {
  return v > 0.0 ? fmt::format(fmt::runtime(format), v) : fmt::format("{:>8}", "-");
}

std::string spread(std::vector<double> values) {
  if (values.empty()) return "-";
  return fmt::format("{:.2f} (worst {:.2f})", geometric_mean(values), *std::min_element(values.begin(), values.end()));
}

void print_tccg_summary(const std::vector<Result>& results, const Setup& setup) {
  fmt::print(
      "\ngeometric means, GFLOP/s (in brackets: share of this run's large dgemm, {:.1f}); published: dgemm {:.0f}\n",
      setup.peak, published_peak);
  std::vector<std::string> groups = groups_of(results);
  groups.push_back("all");
  for (const std::string& group : groups) {
    const auto wanted = [&](const Result& r) { return group == "all" || r.shape.group == group; };
    const auto mean = [&](const std::string& name) {
      return geometric_mean(collect(results, wanted, [&](const Result& r) { return r.gflops(name); }));
    };
    fmt::print("{:9} dgemm {:5.1f} ({:.2f})  GEMM part {:5.1f} ({:.2f})  TTGT {:5.1f} ({:.2f})", group, mean("dgemm"),
               mean("dgemm") / setup.peak, mean("ttgt_gemm"), mean("ttgt_gemm") / setup.peak, mean("ttgt"),
               mean("ttgt") / setup.peak);
    const auto p =
        std::find_if(std::begin(published), std::end(published), [&](const Published& x) { return group == x.group; });
    for (const std::string& name : setup.kernels) {
      const double is = mean(name);
      const std::vector<double> against =
          collect(results, wanted, [&](const Result& r) { return r.speedup(name, "ttgt"); });
      const auto slower = std::count_if(against.begin(), against.end(), [](double x) { return x < 1.0; });
      fmt::print(
          "\n          {:6} {:5.1f} ({:.2f}), target {:.1f} ({:.2f} of dgemm): {}; to TTGT {}, slower than it in {} of {}",
          name, is, is / setup.peak, p->target, p->target / published_peak,
          is / setup.peak >= p->target / published_peak ? "reached" : "missed", spread(against), slower,
          against.size());
    }
    fmt::print("\n");
  }
  for (const std::string& name : setup.kernels) {
    const auto bound = [&](const Result& r) { return memory_bound(r, setup); };
    const std::vector<double> share =
        collect(results, bound, [&](const Result& r) { return r.speedup(name, "memcpy"); });
    fmt::print("bound by memory: {} cases; {} reaches {} of the streaming limit, 0.8 in {}\n", share.size(), name,
               spread(share), std::count_if(share.begin(), share.end(), [](double x) { return x >= 0.8; }));
  }
}

void print_sial_summary(const std::vector<Result>& results, const Setup& setup) {
  fmt::print(
      "\nspeed relative to the best known way (TTGT, looped GEMM, LIBXSMM), geometric mean and worst; target: 0.95 everywhere, mean above 1\n");
  for (const std::string& name : setup.kernels) {
    const auto to_best = [&](const Result& r) { return r.speedup(name, r.best_known()); };
    for (const std::string& group : groups_of(results))
      fmt::print(
          "{:6} {:10} {}\n", name, group,
          spread(collect(results, [&](const Result& r) { return r.shape.group == group && r.flops > 2.0; }, to_best)));
    for (const std::string& setting : settings_of(results))
      fmt::print("{:6} segments {:8} {}\n", name, setting,
                 spread(collect(results, [&](const Result& r) { return r.shape.setting == setting; }, to_best)));
    const std::vector<double> all = collect(results, [](const Result& r) { return r.flops > 2.0; }, to_best);
    fmt::print("{:6} all but segment 1: {}; below 0.95 in {} of {}\n", name, spread(all),
               std::count_if(all.begin(), all.end(), [](double x) { return x < 0.95; }), all.size());
    const auto one = [](const Result& r) { return r.flops <= 2.0; };
    fmt::print("{:6} a call on blocks of one element: {:.0f} ns, TTGT planned beforehand {:.0f} ns\n", name,
               geometric_mean(collect(results, one, [&](const Result& r) { return 1e9 * r.seconds.at(name); })),
               geometric_mean(collect(results, one, [&](const Result& r) { return 1e9 * r.seconds.at("ttgt"); })));
    const auto small = [](const Result& r) { return longest(r) <= 12 && r.flops > 2.0; };
    fmt::print("{:6} to TTGT at segments up to 12 {}; target 2\n", name,
               spread(collect(results, small, [&](const Result& r) { return r.speedup(name, "ttgt"); })));
  }
}

}  // namespace

void print_setup(const Setup& setup) {
  fmt::print("processor: {}\n{}\nLIBXSMM: {}; clock: {}; size: {}; large dgemm: {:.1f} GFLOP/s\n", setup.processor,
             setup.blas, setup.xsmm.empty() ? "not built in" : setup.xsmm, setup.clock, setup.size, setup.peak);
  for (const std::string& name : setup.skipped) fmt::print("note: this build has no kernels called `{}`\n", name);
}

void print_header(const std::string& suite, const Setup& setup) {
  if (suite == "tccg")
    fmt::print(
        "\nTCCG, 48 contractions (list restored from the literature, the last three of intensli less certain; extents as stated). GFLOP/s.\n"
        "limit: share of what memcpy of the same bytes and the large dgemm allow together (m: memory decides).\n");
  else
    fmt::print(
        "\nSIAL blocks. GFLOP/s; best: share of the fastest baseline (t TTGT, g looped GEMM, x LIBXSMM); limit as for TCCG.\n");
  fmt::print("{:10} {:30} {:29} {:>17} {:>8} {:>8}", "group", "contraction", "extents", "m x n x k", "dgemm",
             suite == "tccg" ? "GEMMpart" : "looped");
  if (suite != "tccg") fmt::print(" {:>8}", "libxsmm");
  fmt::print(" {:>8}", "TTGT");
  for (const std::string& name : setup.kernels)
    fmt::print(" | {:>8} {:>6} {:>6} {:>7}", name, suite == "tccg" ? "/dgemm" : "/best", "/TTGT", "limit");
  fmt::print("\n");
}

void print_row(const Result& r, const Setup& setup) {
  const bool tccg = r.suite == "tccg";
  fmt::print("{:10} {:30} {:29} {:>17} {} {}", r.shape.group, r.shape.name, r.shape.setting,
             fmt::format("{}x{}x{}", r.m, r.n, r.k), number(r.gflops("dgemm")),
             number(r.gflops(tccg ? "ttgt_gemm" : "looped")));
  if (!tccg) fmt::print(" {}", number(r.gflops("libxsmm")));
  fmt::print(" {}", number(r.gflops("ttgt")));
  const std::string best = r.best_known();
  for (const std::string& name : setup.kernels)
    fmt::print(" | {} {:5.2f}{} {:6.2f} {:6.2f}{}", number(r.gflops(name)), r.speedup(name, tccg ? "dgemm" : best),
               tccg               ? " "
               : best == "ttgt"   ? "t"
               : best == "looped" ? "g"
                                  : "x",
               r.speedup(name, "ttgt"), limit(r, setup) / r.seconds.at(name), memory_bound(r, setup) ? "m" : " ");
  fmt::print("\n");
  if (setup.notes)
    for (const auto& [name, note] : r.notes) fmt::print("    {}: {}\n", name, note);
  for (const auto& [name, error] : r.error)
    if (!(error <= 1.0))
      fmt::print("WRONG: {} in {} {} ({}): error {:.3g} times what rounding allows\n", name, r.shape.group,
                 r.shape.name, r.shape.setting, error);
  std::fflush(stdout);
}

void print_summary(const std::string& suite, const std::vector<Result>& all, const Setup& setup) {
  std::vector<Result> results;
  std::copy_if(all.begin(), all.end(), std::back_inserter(results), [&](const Result& r) { return r.suite == suite; });
  if (results.empty()) return;
  if (suite == "tccg") print_tccg_summary(results, setup);
  else print_sial_summary(results, setup);
}

void write_json(const std::string& file, const std::vector<Result>& results, const Setup& setup) {
  using nlohmann::ordered_json;
  ordered_json document;
  document["format"] = "sialx-bench-kernels";
  document["version"] = 1;
  document["processor"] = setup.processor;
  document["blas"] = setup.blas;
  document["libxsmm"] = setup.xsmm;
  document["clock"] = setup.clock;
  document["size"] = setup.size;
  document["peak_gflops"] = setup.peak;
  document["kernels"] = setup.kernels;
  document["skipped"] = setup.skipped;
  document["cases"] = ordered_json::array();
  for (const Result& r : results) {
    ordered_json c;
    c["suite"] = r.suite;
    c["group"] = r.shape.group;
    c["name"] = r.shape.name;
    c["setting"] = r.shape.setting;
    c["d"] = r.shape.d, c["a"] = r.shape.a, c["b"] = r.shape.b;
    for (const auto& [label, extent] : r.shape.extent) c["extents"][std::string(1, label)] = extent;
    c["beta"] = r.shape.beta;
    c["m"] = r.m, c["n"] = r.n, c["k"] = r.k;
    c["flops"] = r.flops, c["bytes"] = r.bytes;
    c["bound"] = memory_bound(r, setup) ? "memory" : "arithmetic";
    c["best_known"] = r.best_known();
    c["seconds"] = r.seconds;
    for (const auto& [name, error] : r.error) c["error"][name] = std::isfinite(error) ? error : 1e300;
    c["notes"] = r.notes;
    document["cases"].push_back(std::move(c));
  }
  for (const std::string suite : {"tccg", "sial"})
    for (const std::string& group : groups_of(results)) {
      const auto wanted = [&](const Result& r) { return r.suite == suite && r.shape.group == group; };
      if (std::none_of(results.begin(), results.end(), wanted)) continue;
      ordered_json g;
      for (const char* name : {"dgemm", "ttgt_gemm", "ttgt"})
        g["gflops"][name] = geometric_mean(collect(results, wanted, [&](const Result& r) { return r.gflops(name); }));
      for (const std::string& name : setup.kernels) {
        g["gflops"][name] = geometric_mean(collect(results, wanted, [&](const Result& r) { return r.gflops(name); }));
        g["to_best_known"][name] =
            geometric_mean(collect(results, wanted, [&](const Result& r) { return r.speedup(name, r.best_known()); }));
        g["to_ttgt"][name] =
            geometric_mean(collect(results, wanted, [&](const Result& r) { return r.speedup(name, "ttgt"); }));
      }
      document["groups"][suite][group] = std::move(g);
    }
  std::ofstream out(file);
  out << document.dump(1) << "\n";
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write `{}`", file));
}

}  // namespace bench
