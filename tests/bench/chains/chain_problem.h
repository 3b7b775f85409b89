#pragma once
// Chains of element-wise statements as the CCSD, MP2 and triples examples have them, and one made concrete: blocks of a
// size with numbers in them, and the steps with their sources.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"

namespace bench {

/// One step as a program has it: `a` and `b` name blocks with their indices in the target's letters, "x:bjai". An
/// array's block with its indices in another order is another block, but on the diagonal.
struct FusedStatement {
  sial::kernels::FusedOp op;
  double value = 0.0;
  std::string a, b;
};

struct FusedCase {
  std::string name, target;  // target: its indices
  std::vector<FusedStatement> statements;
  std::int64_t virtual_per_occupied = 1;  // extents of a, b, c by those of i, j, k
};

const std::vector<FusedCase>& chain_cases();

class FusedProblem {
 public:
  /// `bytes`: of a block, about; at least two elements an occupied index.
  FusedProblem(const FusedCase& chain, std::int64_t bytes);
  FusedProblem(const FusedProblem&) = delete;
  FusedProblem& operator=(const FusedProblem&) = delete;

  const sial::MutableView& target() const { return target_; }
  const std::vector<sial::kernels::FusedStep>& steps() const { return steps_; }
  /// The sources, each named in the chain by a letter.
  const std::vector<std::pair<char, double*>>& blocks() const { return blocks_; }
  /// Blocks' worth of memory that has to be read or written.
  double streams() const { return streams_; }
  /// Of an occupied index.
  std::int64_t extent() const { return extent_; }
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const { return elements_ * 8; }

 private:
  double* fresh();
  void source(const std::string& text, sial::kernels::FusedSource& to);

  std::int64_t extent_ = 0, elements_ = 0;
  sial::MutableView target_;
  sial::EnergyDifferences energies_;
  std::unique_ptr<std::byte, decltype(&std::free)> arena_{nullptr, &std::free};
  std::size_t taken_ = 0;  // blocks
  std::vector<std::pair<char, double*>> blocks_;
  std::vector<sial::kernels::FusedStep> steps_;
  double streams_ = 0;
};

}  // namespace bench
