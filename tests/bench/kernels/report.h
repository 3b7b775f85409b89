#pragma once
// Results as tables for people and JSON for tools, with the targets beside them.

#include <string>
#include <vector>

#include "tests/bench/kernels/run_case.h"

namespace bench {

struct Setup {
  std::string processor, blas, xsmm, clock, size;
  double peak = 0.0;  // GFLOP/s of a large dgemm in this run
  std::vector<std::string> kernels, skipped;
  bool notes = false;  // how each contender goes about a case, below its row
};

void print_setup(const Setup& setup);
void print_header(const std::string& suite, const Setup& setup);
void print_row(const Result& result, const Setup& setup);
void print_summary(const std::string& suite, const std::vector<Result>& results, const Setup& setup);

/// Everything printed and measured. Throws std::runtime_error where the file cannot be written.
void write_json(const std::string& file, const std::vector<Result>& results, const Setup& setup);

}  // namespace bench
