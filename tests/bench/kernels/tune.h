#pragma once
// The offline check of the cost model: each case with every strategy that is possible for it, what the model chose and
// what that cost.

#include <string>
#include <vector>

#include "runtime/core/kernels/contraction/contraction_costs.h"
#include "tests/bench/kernels/run_case.h"

namespace bench {

/// Constants of the model beside the usual ones.
struct OtherCosts {
  std::string name;
  sial::kernels::ContractionCosts costs;
};

struct Tuned {
  std::string suite, chosen, fastest;
  Case shape;
  std::map<std::string, double> seconds;         // by strategy
  std::map<std::string, std::string> chosen_by;  // strategy, by the name of other costs
  bool right = true;
  /// How many times longer the choice takes than the fastest.
  double regret() const { return regret(chosen); }
  double regret(const std::string& strategy) const { return seconds.at(strategy) / seconds.at(fastest); }
};

/// One case with the kernels called "auto"; kernels for strategies met the first time are added to `implementations`.
Tuned tune_case(const Case& c, const std::string& suite, Memory& memory, Implementations& implementations,
                const RunOptions& options, const std::vector<OtherCosts>& others);

void print_tuned(const Tuned& tuned);
void print_tuned_summary(const std::vector<Tuned>& all);
/// Throws std::runtime_error where the file cannot be written.
void write_tuned_json(const std::string& file, const std::vector<Tuned>& all);

}  // namespace bench
