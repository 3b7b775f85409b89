#pragma once
// What the kernels are measured against, written here so that no change of the runtime moves it: plain dgemm of the
// same m, n, k, memcpy of the same bytes, transpose-transpose-GEMM-transpose (TTGT), and loops of GEMM over strided
// sub-matrices, by BLAS or by LIBXSMM.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/kernels/problem.h"

namespace bench {

/// D(m,n) = A(m,k) B(k,n) + beta D: leading dimensions and which operands lie row by row.
struct Product {
  std::int64_t m = 0, n = 0, k = 0, lda = 1, ldb = 1, ldd = 1;
  bool a_transposed = false, b_transposed = false;
};

/// Through BLAS; matrix-vector, outer and inner products by the routine made for them.
void blas_product(const Product& p, const double* a, const double* b, double* d, double beta);

/// The same product by generated code, or an empty function where LIBXSMM is missing or does not offer it.
std::function<void(const double*, const double*, double*)> xsmm_product(const Product& p, double beta);
/// The version of LIBXSMM in use; empty without it.
std::string xsmm_version();

/// dgemm of dense m x k and k x n in packed_a, packed_b, packed_d.
std::function<void()> plain_dgemm(const Problem& p);

/// memcpy that reads and writes p.bytes() together: the time that memory alone asks for.
std::function<void()> streaming(const Problem& p);

/// Operands that are no matrices are copied into permuted order, then one GEMM, then the result is permuted back.
class Ttgt {
 public:
  explicit Ttgt(const Problem& p);
  void run() const;
  /// The product alone, on whatever the last run() packed.
  void product() const;
  /// Copies made: "a", "ad", ... or "none".
  std::string copies() const;

 private:
  struct Copy {
    bool needed = false;
    std::vector<std::array<std::int64_t, 3>> dims;  // extent, stride in the operand, stride in the packed one
  };
  const Problem& problem_;
  Product product_;
  Copy d_, a_, b_;
  bool swapped_ = false;  // D lies row by row: its transpose is computed
};

/// Loops around GEMM over sub-matrices that need no copy. `xsmm`: each by LIBXSMM.
class Looped {
 public:
  /// The ways that look fastest, best first; at most `count`.
  static std::vector<Looped> candidates(const Problem& p, bool xsmm, int count);
  void run() const;
  std::string inner() const;  // "m x n x k" of the GEMM, and how many calls

 private:
  struct Loop {
    std::int64_t extent, d, a, b;
  };
  const Problem* problem_ = nullptr;
  Product product_;
  std::vector<Loop> free_, summed_;
  bool swapped_ = false;
  double calls_ = 1.0, estimate_ = 0.0;
  std::function<void(const double*, const double*, double*)> first_, more_;
};

}  // namespace bench
