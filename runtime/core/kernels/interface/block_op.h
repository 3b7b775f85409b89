#pragma once
// The one descriptor of block arithmetic, D[d] = alpha * A[a] * B[b] + beta * D[d], and the seam behind which the
// kernel implementations sit (reference, blas; later generated and device code). Labels name indices: a label in both a
// and b is summed over, every label of d appears in exactly one of a, b. Without b it is a (permuted) scaled copy or
// accumulate. Views do not own; d must not overlap a or b. beta = 0 overwrites without reading (NaN in D does not
// survive).

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/core/base/shape.h"
#include "runtime/core/kernels/interface/jit.h"
#include "runtime/core/memory/resource.h"

namespace sial {

/// A view of a block or of a rectangular part of one: extents and strides in elements per dimension, labels to match.
template <class T>
struct BlockView {
  T* data = nullptr;
  std::int32_t rank = 0;
  std::array<std::int64_t, max_rank> extent = unit_extents;
  std::array<std::int64_t, max_rank> stride{};
  std::array<std::int32_t, max_rank> label{};
};
using ConstView = BlockView<const double>;
using MutableView = BlockView<double>;

inline ConstView as_const(const MutableView& v) {
  ConstView c;
  c.data = v.data;
  c.rank = v.rank;
  c.extent = v.extent;
  c.stride = v.stride;
  c.label = v.label;
  return c;
}

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

/// The outcome of an operation: the method, a string that lives as long as the program, and the reasons.
struct KernelChoice {
  const char* method = "";
  const std::string* why = nullptr;  // valid until the next run()
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual const char* name() const = 0;
  virtual void run(const BlockOp& op) = 0;
  /// Tells that operations will soon read these elements, in the order of the calls: those that run before may fetch
  /// them. A hint; the elements are not looked at, and need not be there any more by then.
  virtual void expect(const double* /*data*/, std::int64_t /*elements*/) {}
  /// The pieces of workspace that run() takes at once, in elements; data pointers are not looked at, only whether they
  /// are null.
  virtual std::array<std::int64_t, 3> workspace(const BlockOp& /*op*/) const { return {}; }
  /// Full contraction: sum over all positions of a * b, labels matched by name (permuted operands allowed).
  virtual double dot(const ConstView& a, const ConstView& b) = 0;
  /// The method of run() and its reason, in one line.
  virtual std::string explain(const BlockOp& /*op*/) const { return name(); }
  /// Clock cycles of one core that run() takes by the model that chooses, with its fixed constants, operands in its
  /// caches; 0 where there is none.
  virtual double cycles(const BlockOp& /*op*/) const { return 0.0; }
  /// The choice of the last run().
  virtual KernelChoice last_choice() const { return {name(), nullptr}; }
  virtual kernels::CodeStats code_stats() const { return {}; }
  /// The maker of code while programs run, for others too; null: there is none.
  virtual kernels::CodeEngine* code_engine() { return nullptr; }
};

namespace kernels {
struct ContractionCosts;
}

struct KernelOptions {
  bool jit = true;           // generate code while running
  bool jit_at_once = false;  // and wait for it: tests and measurements
  std::string jit_cpu;       // generate for this processor, and wait; empty: the one we run on
  std::string jit_cache;     // folder of generated code; empty: none is kept
  std::string strategy;      // of contractions, where possible: see contraction_choices; empty: by the model
  std::shared_ptr<const kernels::ContractionCosts> costs;  // constants of that model, measured; null: the usual ones
  int threads = 1;                                         // that share large operations
};

/// `name`: "auto" (planned: generated or built-in register tiles, BLAS), "blas" (permute + GEMM through CBLAS) or
/// "reference" (plain loops, the oracle). Workspace comes from `workspace`, which must outlive the result. Throws
/// SialError for an unknown name, listing the known ones, and for options that this processor cannot follow.
std::unique_ptr<Kernels> make_kernels(const std::string& name, BufferResource& workspace,
                                      const KernelOptions& options = {});

/// Throws SialError for options that this processor cannot follow.
void check_kernel_options(const KernelOptions& options);
/// The kernels of contractions and whether code is generated, for --version --verbose. Generates a small piece to know.
std::string describe_kernels(const KernelOptions& options);
/// The processor: name, family, model, caches.
std::string describe_processor();

namespace kernels {
/// The bytes of the largest cache that a core uses; a guess where nobody says.
std::int64_t last_level_cache_bytes();
/// Operands of so many bytes together, or a result of so many, are not expected to stay in that cache.
inline std::int64_t bytes_beyond_caches() { return last_level_cache_bytes() / 8 * 5; }
}  // namespace kernels

/// The BLAS kernel set in use and whether it suits this processor, for --version --verbose. Also applies the
/// start-up cure for OpenBLAS builds that misdetect the processor; call once, first thing in main().
std::string prepare_blas();

/// Lets the BLAS take its work memory now; it keeps it. An OpenBLAS that gets none asks for ever: call
/// this before there are other threads. Throws ProcessLimitError where there is none to be had.
void reserve_blas_memory();

}  // namespace sial
