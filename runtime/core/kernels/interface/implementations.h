#pragma once
// The makers behind make_kernels(), one per implementation file.

#include <memory>
#include <string>

#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {

std::unique_ptr<Kernels> make_reference_kernels();
/// `engine`: of generated code for permutations; outlives the kernels, may be null.
std::unique_ptr<Kernels> make_blas_kernels(BufferResource& workspace, CodeEngine* engine = nullptr);
std::unique_ptr<Kernels> make_planned_kernels(BufferResource& workspace, const KernelOptions& options);

/// OpenBLAS's name for the kernel set this processor deserves; empty where its own detection can be trusted.
std::string preferred_openblas_core();
/// The bits of the vectors that the BLAS in use has kernels for.
int blas_vector_bits();
/// Name, family, model and caches of one core: "AMD EPYC (family 26, model 2), caches 48 kB, 1.05 MB, 403 MB". Figures
/// of different processors are not to be mixed.
std::string processor_text();
/// The facts of this processor.
CpuFacts processor_facts();
bool processor_runs(const std::string& cpu);
/// After non-temporal stores: what was written is seen before what this thread writes from now on.
void complete_streams();

}  // namespace sial::kernels
