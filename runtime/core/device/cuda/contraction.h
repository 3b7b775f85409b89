#pragma once
// The form of a contraction as matrix products of cuBLAS: which operands are matrices as they lie, or batches of them,
// and which are first brought into another order in workspace. A pure function of labels, extents and strides; of all
// orders that some operand already has, with up to two labels of the result taken out as a batch and as a loop, the one
// that costs least by a simple model of a GPU: bytes moved, products rounded up to tiles, and starts of kernels.

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/core/kernels/interface/plain.h"

namespace sial::cuda {

/// An operand of the product: column by column with leading dimension `ld`, or transposed so.
struct GemmOperand {
  bool transposed = false;
  std::int64_t ld = 1;
  std::int64_t batch = 0, loop = 0;  // strides
};

/// A dimension of an operand that is copied from or to workspace.
struct PackedDim {
  std::int64_t extent = 1;
  std::int64_t packed = 0, operand = 0;  // strides
};
using Packing = std::vector<PackedDim>;  // empty: the operand is used where it lies

struct DeviceContraction {
  /// nothing: D has no elements. scale: nothing is summed, D = beta * D.
  enum class Kind { nothing, scale, product } kind = Kind::product;
  bool swapped = false;                                      // the first factor of the product is b
  std::int64_t m = 1, n = 1, k = 1, batches = 1, loops = 1;  // of the product, loops products of so many batches
  GemmOperand a, b, d;                                       // d is never transposed
  Packing pack_a, pack_b, unpack_d;
  std::int64_t size_a = 0, size_b = 0, size_d = 0;  // elements of workspace
  double cost = 0;                                  // elements that could have been moved meanwhile
};

/// Operands that are copied to workspace whatever it costs, D being computed there.
struct MovedOperands {
  bool a = false, b = false, d = false;
};

/// `reads_target`: beta is not 0.
DeviceContraction plan_device_contraction(const kernels::LoopSpace& space, bool reads_target, MovedOperands moved);
inline DeviceContraction plan_device_contraction(const kernels::LoopSpace& space, bool reads_target,
                                                 bool product_aside) {
  return plan_device_contraction(space, reads_target, MovedOperands{false, false, product_aside});
}

}  // namespace sial::cuda
