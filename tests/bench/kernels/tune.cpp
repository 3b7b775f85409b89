#include "tests/bench/kernels/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace bench {
namespace {

/// Names of all strategies that the planner considers, with built-in or generated tiles.
std::vector<std::string> strategies(const sial::BlockOp& op) {
  const sial::kernels::LoopSpace space = sial::kernels::resolve(op);
  const sial::kernels::CpuFacts facts = sial::kernels::cpu_facts("");
  std::vector<std::string> names;
  for (const sial::kernels::TileShape& shape :
       {sial::kernels::builtin_tiles(facts).shape, sial::kernels::generated_tile_shape(facts)})
    for (const sial::kernels::ContractionChoice& choice :
         sial::kernels::contraction_choices(space, shape, true, sial::kernels::blas_vector_bits()))
      if (std::find(names.begin(), names.end(), choice.name) == names.end()) names.push_back(choice.name);
  return names;
}

const Implementation& kernels_for(Implementations& implementations, const std::string& specification) {
  for (const Implementation& implementation : implementations.all())
    if (implementation.name == specification) return implementation;
  return implementations.add(specification);
}

}  // namespace

Tuned tune_case(const Case& c, const std::string& suite, Memory& memory, Implementations& implementations,
                const RunOptions& options, const std::vector<OtherCosts>& others) {
  const Problem problem(c, memory);
  Tuned tuned;
  tuned.suite = suite;
  tuned.shape = c;
  const sial::BlockOp& op = problem.op();
  const std::string by_model = kernels_for(implementations, "auto").kernels->explain(op);
  std::vector<std::string> explained;
  std::vector<Contender> contenders;
  for (const std::string& name : strategies(op)) {
    sial::Kernels* kernels = kernels_for(implementations, "auto:strategy=" + name).kernels;
    // A strategy that is impossible after all falls back to the model's choice, which is there under its own name.
    const std::string how = kernels->explain(op);
    if (std::find(explained.begin(), explained.end(), how) != explained.end()) continue;
    if (how == by_model && by_model.find(name + ":") == std::string::npos) continue;
    explained.push_back(how);
    if (how == by_model) tuned.chosen = name;
    contenders.push_back({name, [kernels, &op] { kernels->run(op); }});
    problem.reset();
    kernels->run(op);
    tuned.right = tuned.right && problem.error() <= 1.0;
  }
  if (tuned.chosen.empty()) {
    // Special cases outside the choice of strategies, such as inner products.
    tuned.chosen = "special";
    sial::Kernels* kernels = kernels_for(implementations, "auto").kernels;
    contenders = {{"special", [kernels, &op] { kernels->run(op); }}};
  }
  problem.reset();
  contenders.front().run();
  measure(contenders, options.clock, options.effort);
  tuned.fastest = contenders.front().name;
  for (const Contender& contender : contenders) {
    tuned.seconds[contender.name] = contender.seconds;
    if (contender.seconds < tuned.seconds[tuned.fastest]) tuned.fastest = contender.name;
  }
  const sial::kernels::TileKernels table = sial::kernels::builtin_tiles(sial::kernels::cpu_facts(""));
  for (const OtherCosts& other : others) {
    std::string& chosen = tuned.chosen_by[other.name] = tuned.chosen;
    if (tuned.chosen != "special")
      chosen = sial::kernels::contraction_choices(sial::kernels::resolve(op), table.shape, table.fast,
                                                  sial::kernels::blas_vector_bits(), &other.costs)
                   .front()
                   .name;
  }
  implementations.trim();
  return tuned;
}

void print_tuned(const Tuned& t) {
  fmt::print("{:10} {:30} {:29} regret {:5.2f}  chose {}, fastest {};", t.shape.group, t.shape.name, t.shape.setting,
             t.regret(), t.chosen, t.fastest);
  for (const auto& [name, seconds] : t.seconds) fmt::print(" [{} {:.3g}]", name, seconds / t.seconds.at(t.fastest));
  fmt::print("{}\n", t.right ? "" : " WRONG");
  std::fflush(stdout);
}

void print_tuned_summary(const std::vector<Tuned>& all) {
  if (all.empty()) return;
  std::map<std::string, int> chosen, fastest;
  for (const Tuned& t : all) ++chosen[t.chosen], ++fastest[t.fastest];
  const auto print_regret = [&](const std::string& costs, const auto& choice) {
    double logs = 0.0, worst = 1.0;
    int bad = 0;
    for (const Tuned& t : all) {
      const double regret = t.regret(choice(t));
      logs += std::log(regret);
      worst = std::max(worst, regret);
      bad += regret > 1.1;
    }
    fmt::print("regret of the cost model, {} constants: geometric mean {:.3f}, worst {:.2f}, above 1.1 in {} of {}\n",
               costs, std::exp(logs / static_cast<double>(all.size())), worst, bad, all.size());
  };
  fmt::print("\n");
  print_regret("usual", [](const Tuned& t) { return t.chosen; });
  for (const auto& [name, strategy] : all.front().chosen_by)
    print_regret(name, [&](const Tuned& t) { return t.chosen_by.at(name); });
  for (const auto& [name, count] : fastest) chosen.try_emplace(name, 0);
  for (const auto& [name, count] : chosen)
    fmt::print("  {:40} chosen {:4}, fastest {:4}\n", name, count, fastest[name]);
}

void write_tuned_json(const std::string& file, const std::vector<Tuned>& all) {
  nlohmann::ordered_json document;
  document["format"] = "sialx-bench-tune";
  document["version"] = 1;
  document["cases"] = nlohmann::ordered_json::array();
  for (const Tuned& t : all)
    document["cases"].push_back({{"suite", t.suite},
                                 {"group", t.shape.group},
                                 {"name", t.shape.name},
                                 {"setting", t.shape.setting},
                                 {"chosen", t.chosen},
                                 {"chosen_by", t.chosen_by},
                                 {"fastest", t.fastest},
                                 {"regret", t.regret()},
                                 {"right", t.right},
                                 {"seconds", t.seconds}});
  std::ofstream out(file);
  out << document.dump(1) << "\n";
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write `{}`", file));
}

}  // namespace bench
