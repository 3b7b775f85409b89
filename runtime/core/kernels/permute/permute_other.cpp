#include "runtime/core/kernels/interface/permute_code.h"

namespace sial::kernels {

PermuteKernels builtin_permute(const CpuFacts&) { return portable_permute(); }

}  // namespace sial::kernels
