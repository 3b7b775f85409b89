// Chains of element-wise statements on one block, fused into one pass against a pass each, and both against the limit
// that memory sets: the bytes that must be read and written, at the rate at which memcpy moves bytes between blocks of
// that size in the same run. The chains are those of the CCSD, MP2 and triples examples. Contenders take turns; the
// best time of each counts, on the thread's own clock.
//
//     bench_chains [--seconds S] [--blocks N]     S: per case and contender
//                                                 N: bytes per block, instead of 1, 8 and 50 MB
//
// A table, then one line of JSON: per case name, extents, seconds of generated and of built-in code and of separate
// passes, the speed-up, and the fraction of the limit that generated code reaches.

#include <ctime>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/chains/chain_problem.h"

using namespace sial;
using namespace sial::kernels;

namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Bench {
 public:
  Bench(const bench::FusedCase& chain, std::int64_t bytes, CodeEngine& engine)
      : problem(chain, bytes), runner_(&engine) {}

  void fused() { runner_.run(problem.target(), problem.steps()); }
  void built_in() { built_in_.run(problem.target(), problem.steps()); }
  void separate() {
    for (const FusedStep& s : problem.steps()) built_in_.run(problem.target(), {s});
  }
  void copy() {
    std::memcpy(problem.target().data, problem.blocks().front().second, static_cast<std::size_t>(problem.bytes()));
  }

  bench::FusedProblem problem;

 private:
  FusedRunner runner_;
  FusedRunner built_in_;
};

double argument(int argc, char** argv, const std::string& name, double otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (name == argv[i]) return std::atof(argv[i + 1]);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, "--seconds", 0.15);
  const double one = argument(argc, argv, "--blocks", 0.0);
  const std::vector<double> sizes = one > 0.0 ? std::vector<double>{one} : std::vector<double>{1e6, 8e6, 50e6};
  const auto engine = make_code_engine({true, true, {}, {}});
  nlohmann::json out = {{"benchmark", "chains"}, {"cases", nlohmann::json::array()}};
  std::printf("processor: %s\n", describe_processor().c_str());
  std::printf("%-24s %9s %8s %12s %12s %9s %10s %10s\n", "chain", "extent", "MB", "fused us", "separate us", "speed-up",
              "of limit", "built in");
  double logs = 0.0;
  int count = 0;
  for (const double size : sizes)
    for (const bench::FusedCase& chain : bench::chain_cases()) {
      Bench run(chain, static_cast<std::int64_t>(size), *engine);
      struct Contender {
        std::function<void()> run;
        double best = std::numeric_limits<double>::infinity();
      };
      std::vector<Contender> contenders = {
          {[&] { run.fused(); }}, {[&] { run.separate(); }}, {[&] { run.copy(); }}, {[&] { run.built_in(); }}};
      const auto repeats = std::clamp<std::int64_t>(2'000'000 / run.problem.bytes(), 1,
                                                    1000);  // of small blocks, against the clock's own time
      const double begin = now();
      for (int round = 0; round < 3 || now() - begin < 4 * seconds; ++round)
        for (Contender& c : contenders) {
          const double start = now();
          for (std::int64_t k = 0; k < repeats; ++k) c.run();
          if (round > 0) c.best = std::min(c.best, (now() - start) / static_cast<double>(repeats));
        }
      const double limit = contenders[2].best / 2.0 * run.problem.streams();
      const double fused = contenders[0].best, separate = contenders[1].best, built_in = contenders[3].best;
      std::printf("%-24s %9lld %8.1f %12.1f %12.1f %9.2f %10.2f %10.2f\n", chain.name.c_str(),
                  static_cast<long long>(run.problem.extent()), static_cast<double>(run.problem.bytes()) * 1e-6,
                  fused * 1e6, separate * 1e6, separate / fused, limit / fused, limit / built_in);
      std::fflush(stdout);
      out["cases"].push_back({{"chain", chain.name},
                              {"extent", run.problem.extent()},
                              {"bytes", run.problem.bytes()},
                              {"fused_seconds", fused},
                              {"built_in_seconds", built_in},
                              {"separate_seconds", separate},
                              {"speed_up", separate / fused},
                              {"fraction_of_limit", limit / fused}});
      logs += std::log(limit / fused);
      ++count;
    }
  out["fraction_of_limit"] = std::exp(logs / count);
  std::printf("geometric mean of the fraction of the limit: %.2f\n", std::exp(logs / count));
  std::cout << out.dump() << std::endl;
}
