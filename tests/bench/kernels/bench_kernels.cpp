// Block contractions against what the machine and the known methods give, in one process. See README.md.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

#include "runtime/core/kernels/contraction/contraction_calibration.h"
#include "runtime/core/memory/host_pool.h"
#include "tests/bench/kernels/baselines.h"
#include "tests/bench/kernels/report.h"
#include "tests/bench/kernels/tune.h"

namespace bench {
namespace {

constexpr const char* usage =
    "usage: bench_kernels [--suite tccg,sial] [--group NAME,...] [--size full|quick|tiny] [--kernels NAME,...]\n"
    "                     [--seconds S] [--wall] [--self-check] [--notes] [--tune] [--calibrate] [--json FILE]\n"
    "  --group    only these groups (intensli ao2mo ccsd ccsd_t; ring ladder hole transform t2*f (T) outer vector)\n"
    "  --setting  only these segments (8 10 16 25 30 40 57/19 19/5 7/13/23 30/1 1)\n"
    "  --kernels  implementations under test (default blas,auto); unknown ones are left out\n"
    "  --seconds  spent per contender and case\n"
    "  --wall     wall time instead of the thread's processor time\n"
    "  --notes    how each contender goes about a case, below its row\n"
    "  --tune     instead: every strategy possible for the kernels `auto`, and what the cost model's choice costs\n"
    "  --calibrate  with --tune: also what constants of the cost model that are measured first, as by sialrun --calibrate, would choose\n"
    "  --self-check  first shows that a result with one wrong digit would be found\n";

struct Options {
  std::vector<std::string> suites{"tccg", "sial"}, groups, settings, kernels{"blas", "auto"};
  Size size = Size::full;
  std::string size_name = "full", json;
  double seconds = 0.0;  // 0: by the suite
  bool wall = false, self_check = false, notes = false, tune = false, calibrate = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  for (const std::string& x : list)
    if (x == item) return true;
  return false;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const std::map<std::string, bool*> switches{{"--wall", &o.wall},
                                                {"--self-check", &o.self_check},
                                                {"--notes", &o.notes},
                                                {"--tune", &o.tune},
                                                {"--calibrate", &o.calibrate}};
    if (const auto found = switches.find(flag); found != switches.end()) {
      *found->second = true;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(flag);
    const std::string value = argv[++i];
    if (flag == "--suite") o.suites = split(value);
    else if (flag == "--group") o.groups = split(value);
    else if (flag == "--setting") o.settings = split(value);
    else if (flag == "--kernels") o.kernels = split(value);
    else if (flag == "--json") o.json = value;
    else if (flag == "--seconds") o.seconds = std::stod(value);
    else if (flag == "--size" && contains({"full", "quick", "tiny"}, value))
      o.size_name = value, o.size = value == "full" ? Size::full : value == "quick" ? Size::quick : Size::tiny;
    else throw std::invalid_argument(flag);
  }
  return o;
}

/// The check of results must be able to fail: one element off by one part in 1e10, one left unwritten.
void self_check(Memory& memory) {
  for (const Case& c : tccg_cases(Size::tiny)) {
    const Problem problem(c, memory);
    const auto fails = [&](double factor) {
      problem.reset();
      Ttgt(problem).run();
      problem.op().d.data[problem.m * problem.n / 2] *= factor;
      return !(problem.error() <= 1.0);
    };
    if (fails(1.0) || !fails(1.0 + 1e-10) || !fails(std::numeric_limits<double>::quiet_NaN()))
      throw std::runtime_error(fmt::format("the check of results is blind for {}", c.name));
  }
}

/// The fixed constants of the cost model and, where asked for, those measured now.
std::vector<OtherCosts> other_costs(bool calibrate) {
  namespace kernels = sial::kernels;
  const kernels::ContractionTarget target = kernels::builtin_target();
  std::vector<OtherCosts> others{{"fixed", kernels::fixed_costs(target.shape.width)}};
  if (!calibrate) return others;
  const auto pool = sial::make_host_pool();
  const auto measured = kernels::measure_contractions(*pool, kernels::seconds_of_a_plan);
  others.push_back({"measured", kernels::fit_costs(measured, target, kernels::usual_costs(target.shape.width))});
  fmt::print("constants measured on {} contractions: {}\n", measured.size(), kernels::costs_text(others.back().costs));
  return others;
}

int run(const Options& o) {
  Setup setup;
  setup.processor = sial::describe_processor();
  setup.blas = sial::prepare_blas();
  setup.xsmm = xsmm_version();
  setup.clock = o.wall ? "wall time" : "processor time of the thread";
  setup.size = o.size_name;
  Implementations implementations(o.kernels);
  for (const Implementation& implementation : implementations.all()) setup.kernels.push_back(implementation.name);
  setup.skipped = implementations.skipped();
  setup.notes = o.notes;
  Memory memory;
  if (o.self_check) self_check(memory);
  const bool tiny = o.size == Size::tiny, quick = o.size == Size::quick;
  RunOptions options;
  options.clock = {o.wall};
  options.effort.seconds = tiny ? 0.001 : 0.3;
  setup.peak = peak_dgemm(memory, options, tiny ? 128 : quick ? 768 : 1536);
  print_setup(setup);
  std::vector<Result> results;
  std::vector<Tuned> tuned;
  const std::vector<OtherCosts> others = o.tune ? other_costs(o.calibrate) : std::vector<OtherCosts>{};
  bool right = true;
  for (const std::string& suite : o.suites) {
    options.looped = suite == "sial";
    options.effort = {o.seconds > 0.0   ? o.seconds
                      : tiny            ? 1e-4
                      : suite == "tccg" ? (quick ? 0.05 : 0.15)
                                        : (quick ? 0.01 : 0.02),
                      1};
    bool headed = false;
    for (const Case& c : suite == "tccg" ? tccg_cases(o.size) : sial_cases(o.size)) {
      if (!o.groups.empty() && !contains(o.groups, c.group)) continue;
      if (!o.settings.empty() && !contains(o.settings, c.setting)) continue;
      if (o.tune) {
        tuned.push_back(tune_case(c, suite, memory, implementations, options, others));
        print_tuned(tuned.back());
        right = right && tuned.back().right;
        continue;
      }
      if (!headed) print_header(suite, setup);
      headed = true;
      results.push_back(run_case(c, suite, memory, implementations, options));
      print_row(results.back(), setup);
      right = right && results.back().right();
    }
    print_summary(suite, results, setup);
  }
  print_tuned_summary(tuned);
  if (!o.json.empty() && o.tune) write_tuned_json(o.json, tuned);
  if (!o.json.empty() && !o.tune) write_json(o.json, results, setup);
  return right ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  try {
    options = bench::parse(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n{}", e.what(), bench::usage);
    return 2;
  }
  try {
    return bench::run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 2;
  }
}
