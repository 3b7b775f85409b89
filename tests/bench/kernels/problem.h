#pragma once
// One case made concrete: its loop space with strides, its data, the descriptor that the kernels under test get, and a
// check of their result that shares no code with them. Memory lives in a Memory that the cases of a run reuse one after
// the other.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/kernels/interface/block_op.h"
#include "tests/bench/kernels/cases.h"

namespace bench {

/// Doubles aligned to a huge page, growing only; contents are unspecified after need().
class Buffer {
 public:
  double* need(std::int64_t n);
  double* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(double* p) const;
  };
  std::unique_ptr<double, Free> data_;
  std::int64_t size_ = 0;
};

/// Operands, and room for baselines that copy (at least the sizes of the operands).
struct Memory {
  Buffer d, a, b, packed_d, packed_a, packed_b;
};

/// One label: extent and stride in each operand, 0 where the operand lacks it.
struct Dim {
  char label = 0;
  std::int64_t extent = 1;
  std::int64_t d = 0, a = 0, b = 0;
};
using Dims = std::vector<Dim>;
using Stride = std::int64_t Dim::*;

std::int64_t volume(const Dims& dims);

class Problem {
 public:
  /// Fills a and b with numbers in [-1, 1).
  Problem(const Case& c, Memory& memory);

  const Case& shape() const { return case_; }
  const sial::BlockOp& op() const { return op_; }
  Memory& memory() const { return memory_; }
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  /// Bytes that cross the memory bus at least once: both operands in, the result out and, where it is accumulated into,
  /// in.
  double bytes() const;
  /// Puts D into the state before the operation: NaN where it must not be read.
  void reset() const;
  /// Largest error over positions of D in units of what rounding allows (so at most 1 is right), NaN counted as
  /// infinite. All positions of a small D, some hundred drawn ones of a large D. For the state after reset() and one
  /// run.
  double error() const;

  Dims rows, columns, summed;  // labels of a and d, of b and d, of a and b
  std::int64_t m = 1, n = 1, k = 1;

 private:
  double old_value(std::int64_t at) const;

  Case case_;
  Memory& memory_;
  sial::BlockOp op_;
  std::int64_t size_d_ = 1, size_a_ = 1, size_b_ = 1;
};

}  // namespace bench
