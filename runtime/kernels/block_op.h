#pragma once
// The one descriptor of block arithmetic, D[d] = alpha * A[a] * B[b] + beta * D[d], and the seam behind which the kernel
// implementations sit (reference, blas; later generated and device code). Labels name indices: a label in both a and b is
// summed over, every label of d appears in exactly one of a, b. Without b it is a (permuted) scaled copy or accumulate.
// Views do not own; d must not overlap a or b. beta = 0 overwrites without reading (NaN in D does not survive).

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/shape.h"
#include "runtime/memory/resource.h"

namespace sial {

/// A view of a block or of a rectangular part of one: extents and strides in elements per dimension, labels to match.
template <class T>
struct BlockView {
  T* data = nullptr;
  std::int32_t rank = 0;
  std::array<std::int64_t, max_rank> extent{1, 1, 1, 1, 1, 1};
  std::array<std::int64_t, max_rank> stride{};
  std::array<std::int32_t, max_rank> label{};
};
using ConstView = BlockView<const double>;
using MutableView = BlockView<double>;

/// Column-major dense view with the given labels.
template <class T>
BlockView<T> dense_view(T* data, const Shape& shape, const std::array<std::int32_t, max_rank>& labels) {
  BlockView<T> v;
  v.data = data;
  v.rank = shape.rank;
  std::int64_t s = 1;
  for (int d = 0; d < shape.rank; ++d) {
    v.extent[d] = shape.extent[d];
    v.stride[d] = s;
    v.label[d] = labels[d];
    s *= shape.extent[d];
  }
  return v;
}

struct BlockOp {
  MutableView d;
  ConstView a;
  ConstView b;
  bool has_b = false;
  double alpha = 1.0;
  double beta = 0.0;
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual const char* name() const = 0;
  virtual void run(const BlockOp& op) = 0;
  /// The pieces of workspace that run() takes at once, in elements; data pointers are not looked at, only whether they are null.
  virtual std::array<std::int64_t, 3> workspace(const BlockOp& /*op*/) const { return {}; }
  /// Full contraction: sum over all positions of a * b, labels matched by name (permuted operands allowed).
  virtual double dot(const ConstView& a, const ConstView& b) = 0;
};

/// `name`: "reference" (plain loops, the oracle) or "blas" (permute + GEMM through CBLAS). Workspace comes from `workspace`,
/// which must outlive the result. Throws SialError for an unknown name, listing the known ones.
std::unique_ptr<Kernels> make_kernels(const std::string& name, BufferResource& workspace);

/// Which BLAS kernel set is in use and whether it suits this processor, for --version --verbose. Also applies the start-up
/// cure for OpenBLAS builds that misdetect the processor; call once, first thing in main().
std::string prepare_blas();

}  // namespace sial
