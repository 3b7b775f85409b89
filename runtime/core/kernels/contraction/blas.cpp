// Contractions as matrix products. The labels form three groups (rows: a and d, columns: b and d, summed: a and b); an
// operand whose groups are each contiguous in a common order is a matrix as it stands, any other is packed into
// workspace first. All orders that some operand already has are tried and the one that moves the fewest elements wins.

#include <cblas.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/cpu/scratch.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/plain.h"
#include "runtime/core/kernels/permute/permute.h"
#include "runtime/core/kernels/permute/strided.h"

namespace sial::kernels {
namespace {

using Dims = std::vector<LoopDim>;
using Stride = std::int64_t LoopDim::*;

/// A matrix in memory: element (row, column) at row * row_stride + column * column_stride, one of the strides being 1.
struct Matrix {
  bool usable = false;      // can be handed to BLAS without packing
  bool transposed = false;  // stored row by row
  std::int64_t ld = 1;
};

Matrix as_matrix(const Dims& rows, const Dims& columns, Stride s) {
  const std::int64_t m = volume(rows), n = volume(columns);
  const std::int64_t row = group_stride(rows, s), column = group_stride(columns, s);
  if (row == 0 || column == 0) return {};
  if ((m == 1 || row == 1) && (n == 1 || column >= m))
    return {true, false, n == 1 ? std::max<std::int64_t>(1, m) : column};
  if ((n == 1 || column == 1) && (m == 1 || row >= n)) return {true, true, m == 1 ? std::max<std::int64_t>(1, n) : row};
  return {};
}

/// One way to see the operation as D(m,n) = A(m,k) B(k,n).
struct Layout {
  Dims rows, columns, summed;
  Matrix d, a, b;
  std::int64_t moved = std::numeric_limits<std::int64_t>::max();  // elements packed and unpacked
};

Layout best_layout(const LoopSpace& space) {
  const std::int64_t m = volume(space.rows), n = volume(space.columns), k = volume(space.summed);
  Layout best;
  for (const Stride row_order : {&LoopDim::d, &LoopDim::a})
    for (const Stride column_order : {&LoopDim::d, &LoopDim::b})
      for (const Stride sum_order : {&LoopDim::a, &LoopDim::b}) {
        Layout l{ordered(space.rows, row_order),
                 ordered(space.columns, column_order),
                 ordered(space.summed, sum_order),
                 {},
                 {},
                 {},
                 0};
        l.d = as_matrix(l.rows, l.columns, &LoopDim::d);
        l.a = as_matrix(l.rows, l.summed, &LoopDim::a);
        l.b = as_matrix(l.summed, l.columns, &LoopDim::b);
        l.moved = (l.d.usable ? 0 : m * n) + (l.a.usable ? 0 : m * k) + (l.b.usable ? 0 : k * n);
        if (l.moved < best.moved) best = std::move(l);
        if (best.moved == 0) return best;
      }
  return best;
}

/// Pairs of strides for moving between an operand and a dense matrix with the rows first. `packed_first`: the dense
/// side is the one written.
std::vector<PairDim> packing(const Dims& rows, const Dims& columns, Stride s, bool packed_first) {
  std::vector<PairDim> pairs;
  std::int64_t dense = 1;
  for (const Dims* group : {&rows, &columns})
    for (const LoopDim& dim : *group) {
      pairs.push_back(packed_first ? PairDim{dim.extent, dense, dim.*s} : PairDim{dim.extent, dim.*s, dense});
      dense *= dim.extent;
    }
  return pairs;
}

int blas_int(std::int64_t n) {
  SIAL_CHECK(n <= std::numeric_limits<int>::max(), "extent {} is beyond the BLAS interface", n);
  return static_cast<int>(n);
}

/// An operand ready for BLAS: where it is, how it lies.
struct BlasOperand {
  const double* data = nullptr;
  bool transposed = false;
  std::int64_t ld = 1;
  CBLAS_TRANSPOSE flag() const { return transposed ? CblasTrans : CblasNoTrans; }
};

BlasOperand ready(const double* data, const Matrix& matrix, const Dims& rows, const Dims& columns, Stride s,
                  Scratch& scratch, Permuter& permuter) {
  if (matrix.usable) return {data, matrix.transposed, matrix.ld};
  const std::int64_t m = volume(rows);
  double* packed = scratch.allocate(m * volume(columns));
  permuter.run(packed, data, packing(rows, columns, s, true), 1.0, 0.0);
  return {packed, false, m};
}

/// d(m,n) column by column = alpha * x(m) * y(n) + beta * d: BLAS only has the accumulating form, and this one is bound
/// by memory anyway.
void outer_product(double* d, std::int64_t ld, std::int64_t m, std::int64_t n, const double* x, std::int64_t sx,
                   const double* y, std::int64_t sy, double alpha, double beta) {
  for (std::int64_t j = 0; j < n; ++j) combine(d + j * ld, x, {{m, 1, sx}}, alpha * y[j * sy], beta);
}

/// y(n) = alpha * op(a) * x + beta * y. The overwriting form zeroes y here: libraries differ in what beta = 0 does to
/// NaN.
void matrix_vector(double* y, std::int64_t sy, std::int64_t m, const BlasOperand& a, std::int64_t k, const double* x,
                   std::int64_t sx, double alpha, double beta) {
  if (beta == 0.0)
    for (std::int64_t i = 0; i < m; ++i) y[i * sy] = 0.0;
  const std::int64_t stored_rows = a.transposed ? k : m, stored_columns = a.transposed ? m : k;
  cblas_dgemv(CblasColMajor, a.flag(), blas_int(stored_rows), blas_int(stored_columns), alpha, a.data, blas_int(a.ld),
              x, blas_int(sx), beta == 0.0 ? 1.0 : beta, y, blas_int(sy));
}

/// Distance between neighbouring entries of an operand that is a vector of `n` entries along its rows (or columns).
std::int64_t vector_stride(const BlasOperand& v, bool along_rows, std::int64_t n) {
  return n == 1 || v.transposed != along_rows ? 1 : v.ld;
}

/// D(m,n) = alpha A(m,k) B(k,n) + beta D, D stored column by column with leading dimension ld.
void matrix_product(double* d, std::int64_t ld, const BlasOperand& a, const BlasOperand& b, std::int64_t m,
                    std::int64_t n, std::int64_t k, double alpha, double beta) {
  if (k == 1) {
    outer_product(d, ld, m, n, a.data, vector_stride(a, true, m), b.data, vector_stride(b, false, n), alpha, beta);
  } else if (n == 1) {
    matrix_vector(d, 1, m, a, k, b.data, vector_stride(b, true, k), alpha, beta);
  } else if (m == 1) {
    matrix_vector(d, ld, n, {b.data, !b.transposed, b.ld}, k, a.data, vector_stride(a, false, k), alpha, beta);
  } else {
    cblas_dgemm(CblasColMajor, a.flag(), b.flag(), blas_int(m), blas_int(n), blas_int(k), alpha, a.data, blas_int(a.ld),
                b.data, blas_int(b.ld), beta, d, blas_int(ld));
  }
}

class BlasKernels final : public Kernels {
 public:
  BlasKernels(BufferResource& workspace, CodeEngine* engine) : workspace_(workspace), permuter_(engine) {}

  const char* name() const override { return "blas"; }

  void run(const BlockOp& op) override {
    const LoopSpace space = resolve(op);
    if (!op.has_b) {
      std::vector<PairDim> dims;
      for (const LoopDim& dim : space.rows) dims.push_back({dim.extent, dim.d, dim.a});
      permuter_.run(op.d.data, op.a.data, std::move(dims), op.alpha, op.beta);
      return;
    }
    const std::int64_t m = volume(space.rows), n = volume(space.columns), k = volume(space.summed);
    if (m == 0 || n == 0) return;
    // An empty sum still scales D, and BLAS does not look at its operands when alpha is 0: neither is worth a fast
    // path.
    if (k == 0 || op.alpha == 0.0) return run_plain(op, space);
    if (m == 1 && n == 1) {
      const double value = op.alpha * inner(op.a.data, op.b.data, space.summed);
      *op.d.data = op.beta == 0.0 ? value : value + op.beta * *op.d.data;
      return;
    }
    contract(op, best_layout(space), m, n, k);
  }

  std::array<std::int64_t, 3> workspace(const BlockOp& op) const override {
    if (!op.has_b) return {};
    const LoopSpace space = resolve(op);
    const std::int64_t m = volume(space.rows), n = volume(space.columns), k = volume(space.summed);
    if (m == 0 || n == 0 || k == 0 || (m == 1 && n == 1)) return {};
    const Layout layout = best_layout(space);
    return {layout.a.usable ? 0 : m * k, layout.b.usable ? 0 : k * n, layout.d.usable ? 0 : m * n};
  }

  std::string explain(const BlockOp& op) const override {
    if (!op.has_b) return explain_copy(op);
    return fmt::format("blas: {} elements copied", moved_for_blas(resolve(op)));
  }

  double dot(const ConstView& a, const ConstView& b) override { return inner(a.data, b.data, resolve_dot(a, b)); }

 private:
  static std::string explain_copy(const BlockOp& op) {
    // Extents in the target's order, and after each the place of the dimension in the source, from the fastest.
    std::vector<LoopDim> dims = resolve(op).rows;
    std::erase_if(dims, [](const LoopDim& dim) { return dim.extent == 1; });
    std::stable_sort(dims.begin(), dims.end(), [](const LoopDim& p, const LoopDim& q) { return p.d < q.d; });
    std::string extents, order;
    bool alike = true;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto place =
          std::count_if(dims.begin(), dims.end(), [&](const LoopDim& other) { return other.a < dims[i].a; }) + 1;
      alike &= place == static_cast<std::ptrdiff_t>(i) + 1;
      extents += fmt::format("{}{}", i > 0 ? "x" : "", dims[i].extent);
      order += fmt::format("{}{}", i > 0 ? "," : "", place);
    }
    if (dims.empty()) return "copy of one element";
    return alike ? fmt::format("copy of {} in the same order", extents)
                 : fmt::format("permutation of {}: the target's dimensions are the source's {}", extents, order);
  }

  static double inner(const double* a, const double* b, const Dims& dims) {
    std::vector<PairDim> pairs;
    for (const LoopDim& dim : dims) pairs.push_back({dim.extent, dim.a, dim.b});
    return fuse(pairs) ? inner_product(a, b, pairs) : 0.0;
  }

  void contract(const BlockOp& op, const Layout& layout, std::int64_t m, std::int64_t n, std::int64_t k) {
    Scratch a_space(workspace_), b_space(workspace_), d_space(workspace_);
    const BlasOperand a = ready(op.a.data, layout.a, layout.rows, layout.summed, &LoopDim::a, a_space, permuter_);
    const BlasOperand b = ready(op.b.data, layout.b, layout.summed, layout.columns, &LoopDim::b, b_space, permuter_);
    if (layout.d.usable && !layout.d.transposed) {
      matrix_product(op.d.data, layout.d.ld, a, b, m, n, k, op.alpha, op.beta);
    } else if (layout.d.usable) {
      // D lies row by row: its transpose is the product of the transposes.
      matrix_product(op.d.data, layout.d.ld, {b.data, !b.transposed, b.ld}, {a.data, !a.transposed, a.ld}, n, m, k,
                     op.alpha, op.beta);
    } else {
      double* product = d_space.allocate(m * n);
      matrix_product(product, m, a, b, m, n, k, op.alpha, 0.0);
      permuter_.run(op.d.data, product, packing(layout.rows, layout.columns, &LoopDim::d, false), 1.0, op.beta);
    }
  }

  BufferResource& workspace_;
  Permuter permuter_;
};

}  // namespace

std::int64_t moved_for_blas(const LoopSpace& space) { return best_layout(space).moved; }

std::unique_ptr<Kernels> make_blas_kernels(BufferResource& workspace, CodeEngine* engine) {
  return std::make_unique<BlasKernels>(workspace, engine);
}

}  // namespace sial::kernels
