// Chains of element-wise statements on one block, fused into one pass against a pass each, and both against the limit that memory
// sets: the bytes that must be read and written, at the rate at which memcpy moves bytes between blocks of that size in the same run. The chains
// are those of the CCSD, MP2 and triples examples. Contenders take turns; the best time of each counts, on the thread's own clock.
//
//     bench_chains [--seconds S] [--blocks N]     S: per case and contender; N: bytes per block, instead of 1, 8 and 50 MB
//
// A table, then one line of JSON: per case name, extents, seconds of generated and of built-in code and of separate passes, the speed-up, and the
// fraction of the limit that generated code reaches.

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

#include "runtime/kernels/chain.h"

using namespace sial;
using namespace sial::kernels;

namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// One step as a program has it: `a` and `b` name blocks with their indices in the target's letters, "x:bjai".
struct Statement {
  ChainOp op;
  double value = 0.0;
  std::string a, b;
};

struct Chain {
  std::string name, target;  // target: its indices
  std::vector<Statement> statements;
};

const std::vector<Chain>& chains() {
  static const std::vector<Chain> list = {
      {"2x - y", "aibj", {{ChainOp::scaled_copy, 2.0, "x:aibj", ""}, {ChainOp::accumulate, -1.0, "y:aibj", ""}}},
      {"2x - x[ajbi]", "aibj", {{ChainOp::scaled_copy, 2.0, "x:aibj", ""}, {ChainOp::accumulate, -1.0, "y:ajbi", ""}}},
      {"2x - x[biaj]", "aibj", {{ChainOp::scaled_copy, 2.0, "x:aibj", ""}, {ChainOp::accumulate, -1.0, "y:biaj", ""}}},
      {"(x[baji] + x) / 2", "abij", {{ChainOp::copy, 1.0, "x:baji", ""}, {ChainOp::accumulate, 1.0, "y:abij", ""}, {ChainOp::scale, 0.5, "", ""}}},
      {"4t - x - x, 2t", "aibj",
       {{ChainOp::scale, 4.0, "", ""}, {ChainOp::accumulate, -1.0, "x:aibj", ""}, {ChainOp::accumulate, -1.0, "x:aibj", ""}, {ChainOp::scale, 0.5, "", ""}}},
      {"doubles residual", "aibj",
       {{ChainOp::sum, 1.0, "x:aibj", "y:aibj"}, {ChainOp::accumulate, 1.0, "y:bjai", ""}, {ChainOp::accumulate, -1.0, "z:ajbi", ""}, {ChainOp::accumulate, -1.0, "z:biaj", ""}}},
      {"x / denominators", "aibj", {{ChainOp::copy, 1.0, "x:aibj", ""}, {ChainOp::divide, 0.0, "", ""}}},
      {"x[iajb] / denominators", "aibj", {{ChainOp::copy, 1.0, "x:iajb", ""}, {ChainOp::divide, 0.0, "", ""}}},
      {"triples, three orders", "aibjck", {{ChainOp::copy, 1.0, "x:aibjck", ""}, {ChainOp::accumulate, 1.0, "x:ajbkci", ""}, {ChainOp::accumulate, 1.0, "x:akbicj", ""}}},
      {"triples / denominators", "aibjck", {{ChainOp::copy, 1.0, "x:aibjck", ""}, {ChainOp::divide, 0.0, "", ""}}},
  };
  return list;
}

class Bench {
 public:
  Bench(const Chain& chain, std::int64_t bytes, CodeEngine& engine) : runner_(&engine) {
    const int rank = static_cast<int>(chain.target.size());
    extent_ = std::max<std::int64_t>(2, std::llround(std::pow(static_cast<double>(bytes) / 8.0, 1.0 / rank)));
    elements_ = 1;
    for (int d = 0; d < rank; ++d) elements_ *= extent_;
    target_.rank = rank;
    std::int64_t stride = 1;
    for (int d = 0; d < rank; ++d) {
      target_.label[d] = chain.target[d];
      target_.extent[d] = extent_;
      target_.stride[d] = stride;
      stride *= extent_;
      energies_.energy[d].resize(static_cast<std::size_t>(extent_));
      for (std::int64_t p = 0; p < extent_; ++p) energies_.energy[d][static_cast<std::size_t>(p)] = (d % 2 ? -1.0 : 1.0) + 0.01 * static_cast<double>(p);
    }
    energies_.rank = rank;
    memory_ = fresh();
    target_.data = memory_.get();
    for (const Statement& s : chain.statements) {
      ChainStep step{s.op, s.value, {}, {}, s.op == ChainOp::divide ? &energies_ : nullptr};
      source(s.a, step.a);
      source(s.b, step.b);
      steps_.push_back(step);
    }
    const ChainOp first = chain.statements.front().op;
    const bool updates = first == ChainOp::scale || first == ChainOp::accumulate || first == ChainOp::add_scalar || first == ChainOp::divide;
    streams_ = static_cast<double>(blocks_.size()) + 1.0 + (updates ? 1.0 : 0.0);
  }

  void fused() { runner_.run(target_, steps_); }
  void built_in() { built_in_.run(target_, steps_); }
  void separate() {
    for (const ChainStep& s : steps_) built_in_.run(target_, {s});
  }
  void copy() { std::memcpy(target_.data, blocks_.front().second.get(), static_cast<std::size_t>(elements_) * 8); }
  /// Blocks' worth of memory that has to be read or written.
  double streams() const { return streams_; }
  std::int64_t extent() const { return extent_; }
  std::int64_t bytes() const { return elements_ * 8; }

 private:
  using Memory = std::unique_ptr<double, decltype(&std::free)>;
  Memory fresh() const {
    const std::size_t size = (static_cast<std::size_t>(elements_) * 8 + 4095) / 4096 * 4096;
    Memory m(static_cast<double*>(std::aligned_alloc(4096, size)), &std::free);
    for (std::int64_t i = 0; i < elements_; ++i) m.get()[i] = 1.0 + 1e-3 * static_cast<double>(i % 1000);
    return m;
  }

  void source(const std::string& text, ChainSource& to) {
    if (text.empty()) return;
    auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& b) { return b.first == text[0]; });
    if (found == blocks_.end()) found = blocks_.insert(blocks_.end(), {text[0], fresh()});
    ConstView view;
    view.rank = target_.rank;
    view.data = found->second.get();
    view.extent = target_.extent;
    view.stride = target_.stride;
    for (int d = 0; d < view.rank; ++d) view.label[d] = text[static_cast<std::size_t>(d) + 2];
    if (!chain_source(target_, view, to)) std::abort();
  }

  std::int64_t extent_ = 0, elements_ = 0;
  MutableView target_;
  EnergyDifferences energies_;
  Memory memory_{nullptr, &std::free};
  std::vector<std::pair<char, Memory>> blocks_;
  std::vector<ChainStep> steps_;
  double streams_ = 0;
  ChainRunner runner_;
  ChainRunner built_in_;
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
  std::printf("%-24s %9s %8s %12s %12s %9s %10s %10s\n", "chain", "extent", "MB", "fused us", "separate us", "speed-up", "of limit", "built in");
  double logs = 0.0;
  int count = 0;
  for (const double size : sizes)
    for (const Chain& chain : chains()) {
      Bench bench(chain, static_cast<std::int64_t>(size), *engine);
      struct Contender { std::function<void()> run; double best = std::numeric_limits<double>::infinity(); };
      std::vector<Contender> contenders = {{[&] { bench.fused(); }}, {[&] { bench.separate(); }}, {[&] { bench.copy(); }}, {[&] { bench.built_in(); }}};
      const auto repeats = std::clamp<std::int64_t>(2'000'000 / bench.bytes(), 1, 1000);  // of small blocks, against the clock's own time
      const double begin = now();
      for (int round = 0; round < 3 || now() - begin < 4 * seconds; ++round)
        for (Contender& c : contenders) {
          const double start = now();
          for (std::int64_t k = 0; k < repeats; ++k) c.run();
          if (round > 0) c.best = std::min(c.best, (now() - start) / static_cast<double>(repeats));
        }
      const double limit = contenders[2].best / 2.0 * bench.streams();
      const double fused = contenders[0].best, separate = contenders[1].best, built_in = contenders[3].best;
      std::printf("%-24s %9lld %8.1f %12.1f %12.1f %9.2f %10.2f %10.2f\n", chain.name.c_str(), static_cast<long long>(bench.extent()),
                  static_cast<double>(bench.bytes()) * 1e-6, fused * 1e6, separate * 1e6, separate / fused, limit / fused, limit / built_in);
      std::fflush(stdout);
      out["cases"].push_back({{"chain", chain.name}, {"extent", bench.extent()}, {"bytes", bench.bytes()}, {"fused_seconds", fused}, {"built_in_seconds", built_in}, {"separate_seconds", separate},
                              {"speed_up", separate / fused}, {"fraction_of_limit", limit / fused}});
      logs += std::log(limit / fused);
      ++count;
    }
  out["fraction_of_limit"] = std::exp(logs / count);
  std::printf("geometric mean of the fraction of the limit: %.2f\n", std::exp(logs / count));
  std::cout << out.dump() << std::endl;
}
