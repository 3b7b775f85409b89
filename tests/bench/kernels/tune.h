#pragma once
// The offline check of the cost model: each case with every strategy that is possible for it, what the model chose and what that cost.

#include <string>
#include <vector>

#include "tests/bench/kernels/run_case.h"

namespace bench {

struct Tuned {
  std::string suite, chosen, fastest;
  Case shape;
  std::map<std::string, double> seconds;  // by strategy
  bool right = true;
  /// How many times longer the choice takes than the fastest.
  double regret() const;
};

/// One case with the kernels called "auto"; kernels for strategies met the first time are added to `implementations`.
Tuned tune_case(const Case& c, const std::string& suite, Memory& memory, Implementations& implementations, const RunOptions& options);

void print_tuned(const Tuned& tuned);
void print_tuned_summary(const std::vector<Tuned>& all);
/// Throws std::runtime_error where the file cannot be written.
void write_tuned_json(const std::string& file, const std::vector<Tuned>& all);

}  // namespace bench
