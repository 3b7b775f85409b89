#include "runtime/kernels/implementations.h"

namespace sial::kernels {

std::string preferred_openblas_core() { return {}; }

// 64-bit ARM has 128-bit vectors with fused arithmetic; of others nothing is known.
CpuFacts processor_facts() { return {128, false}; }
bool processor_runs(const std::string&) { return false; }

}  // namespace sial::kernels
