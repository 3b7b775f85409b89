#pragma once
// One case from data to numbers: every contender is checked against an independent sum, then all are timed in turns.

#include <map>
#include <string>
#include <vector>

#include "tests/bench/kernels/implementations.h"
#include "tests/bench/kernels/measure.h"

namespace bench {

struct Result {
  Case shape;
  std::string suite;
  std::int64_t m = 0, n = 0, k = 0;
  double flops = 0.0, bytes = 0.0;
  std::map<std::string, double>
      seconds;  // by contender: memcpy, dgemm, ttgt, ttgt_gemm, looped, libxsmm and the implementations
  std::map<std::string, double> error;       // in units of what rounding allows
  std::map<std::string, std::string> notes;  // what a baseline did

  double gflops(const std::string& contender) const;
  /// How many times faster `contender` is than `other`; 0 where either was not measured.
  double speedup(const std::string& contender, const std::string& other) const;
  /// The fastest of the baselines that do the whole operation.
  std::string best_known() const;
  bool right() const;
};

struct RunOptions {
  bool looped = false;  // measure loops of GEMM as well
  Clock clock;
  Effort effort;
};

Result run_case(const Case& c, const std::string& suite, Memory& memory, Implementations& implementations,
                const RunOptions& options);

/// GFLOP/s of a large dgemm.
double peak_dgemm(Memory& memory, const RunOptions& options, std::int64_t extent);

}  // namespace bench
