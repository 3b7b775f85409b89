#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/plain.h"

namespace sial::kernels {
namespace {

class ReferenceKernels final : public Kernels {
 public:
  const char* name() const override { return "reference"; }
  void run(const BlockOp& op) override { run_plain(op, resolve(op)); }
  double dot(const ConstView& a, const ConstView& b) override { return dot_plain(a, b); }
};

}  // namespace

std::unique_ptr<Kernels> make_reference_kernels() { return std::make_unique<ReferenceKernels>(); }

}  // namespace sial::kernels
