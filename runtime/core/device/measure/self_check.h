#pragma once
// Operations of a device compared with the same ones on the host: the reference kernels for products, plain loops for
// element-wise steps. The difference that rounding explains is bounded element by element, by the same operation on
// absolute values: a sum of k products has an error of at most about k eps times the sum of their magnitudes (N. J.
// Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002, section 3.1), twice where both sides
// round.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"
#include "runtime/core/kernels/interface/block_op.h"

namespace sial {

/// A result of the device that differs from the host's.
struct WrongResult {
  std::string text;
};

class SelfCheck {
 public:
  /// Copies from the device what lies at `device`, `n` doubles, after all work on it.
  using Fetch = std::function<std::vector<double>(const double* device, std::int64_t n)>;

  SelfCheck(int every, Fetch fetch);
  /// Whether the next operation is to be compared.
  bool due() { return ++operations_ % every_ == 0; }
  std::int64_t compared() const { return compared_; }

  /// Each takes the operands from the device, has the device compute, and throws WrongResult where the results
  /// disagree.
  void compare(const BlockOp& op, const std::function<void()>& compute);
  void compare(const MutableView& target, std::span<const kernels::FusedStep> steps,
               const std::function<void()>& compute);
  void compare(const ConstView& a, const ConstView& b, double result);

 private:
  /// An operand with memory of the host's.
  template <class T>
  struct Taken {
    std::vector<double> values;
    BlockView<T> view;
  };
  template <class T>
  Taken<T> take(const BlockView<T>& device) const;
  void expect(const char* what, double found, double reference, double bound, const std::int64_t* at, int rank) const;

  std::int64_t every_, operations_ = 0, compared_ = 0;
  Fetch fetch_;
  std::unique_ptr<BufferResource> workspace_;
  std::unique_ptr<Kernels> reference_;
};

}  // namespace sial
