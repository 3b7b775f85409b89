#include "tests/bench/kernels/run_case.h"

#include <algorithm>
#include <optional>

#include "tests/bench/kernels/baselines.h"

namespace bench {
namespace {

/// The fastest of the few candidates that look best, by trying them.
std::optional<Looped> fastest_loop(const Problem& problem, bool xsmm, const Clock& clock) {
  std::optional<Looped> best;
  double least = 0.0;
  const bool large = problem.flops() > 5e8;
  for (const Looped& way : Looped::candidates(problem, xsmm, large ? 3 : 5)) {
    double seconds = 1e30;
    for (int i = 0; i < 2; ++i) {
      const double start = clock.now();
      way.run();
      seconds = std::min(seconds, clock.now() - start);
      if (large || (best && seconds > 2.0 * least)) break;
    }
    if (!best || seconds < least) best = way, least = seconds;
  }
  return best;
}

}  // namespace

double Result::gflops(const std::string& contender) const {
  const auto found = seconds.find(contender);
  return found == seconds.end() ? 0.0 : 1e-9 * flops / found->second;
}

double Result::speedup(const std::string& contender, const std::string& other) const {
  const auto x = seconds.find(contender), y = seconds.find(other);
  return x == seconds.end() || y == seconds.end() ? 0.0 : y->second / x->second;
}

std::string Result::best_known() const {
  std::string best = "ttgt";
  for (const char* name : {"looped", "libxsmm"})
    if (speedup(name, best) > 1.0) best = name;
  return best;
}

bool Result::right() const {
  return std::all_of(error.begin(), error.end(), [](const auto& e) { return e.second <= 1.0; });
}

Result run_case(const Case& c, const std::string& suite, Memory& memory, Implementations& implementations,
                const RunOptions& options) {
  const Problem problem(c, memory);
  Result result;
  result.shape = c;
  result.suite = suite;
  result.m = problem.m, result.n = problem.n, result.k = problem.k;
  result.flops = problem.flops(), result.bytes = problem.bytes();

  std::vector<Contender> contenders{{"memcpy", streaming(problem)}, {"dgemm", plain_dgemm(problem)}};
  const Ttgt ttgt(problem);
  result.notes["ttgt"] = ttgt.copies();
  std::vector<Contender> whole{{"ttgt", [&] { ttgt.run(); }}};
  std::optional<Looped> looped, xsmm;
  if (options.looped) {
    problem.reset();
    looped = fastest_loop(problem, false, options.clock);
    xsmm = fastest_loop(problem, true, options.clock);
  }
  if (looped) whole.push_back({"looped", [&] { looped->run(); }}), result.notes["looped"] = looped->inner();
  if (xsmm) whole.push_back({"libxsmm", [&] { xsmm->run(); }}), result.notes["libxsmm"] = xsmm->inner();
  for (const Implementation& implementation : implementations.all()) {
    whole.push_back(
        {implementation.name, [&problem, kernels = implementation.kernels] { kernels->run(problem.op()); }});
    result.notes[implementation.name] = implementation.kernels->explain(problem.op());
  }

  const auto check = [&](std::size_t first) {
    for (std::size_t i = first; i < whole.size(); ++i) {
      const Contender& contender = whole[i];
      problem.reset();
      contender.run();
      double& worst = result.error[contender.name];
      worst = std::max(worst, problem.error());
    }
  };
  check(0);
  contenders.insert(contenders.end(), whole.begin(), whole.end());
  if (ttgt.copies() != "none") contenders.push_back({"ttgt_gemm", [&] { ttgt.product(); }});
  problem.reset();
  ttgt.run();  // leaves numbers in D, and packed operands for its product alone
  measure(contenders, options.clock, options.effort);
  // Once more for those under test: generated code may have taken over in the meantime.
  check(whole.size() - implementations.all().size());
  for (const Contender& contender : contenders) result.seconds[contender.name] = contender.seconds;
  if (ttgt.copies() == "none") result.seconds["ttgt_gemm"] = result.seconds["ttgt"];
  implementations.trim();
  return result;
}

double peak_dgemm(Memory& memory, const RunOptions& options, std::int64_t extent) {
  const Case c{"",
               "",
               "",
               std::string("ab"),
               std::string("ac"),
               std::string("cb"),
               {{'a', extent}, {'b', extent}, {'c', extent}},
               0.0};
  const Problem problem(c, memory);
  std::vector<Contender> contenders{{"dgemm", plain_dgemm(problem)}};
  measure(contenders, options.clock, {options.effort.seconds, 3});
  return 1e-9 * problem.flops() / contenders.front().seconds;
}

}  // namespace bench
