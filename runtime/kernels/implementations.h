#pragma once
// The makers behind make_kernels(), one per implementation file.

#include <memory>
#include <string>

#include "runtime/kernels/block_op.h"
#include "runtime/kernels/jit.h"

namespace sial::kernels {

std::unique_ptr<Kernels> make_reference_kernels();
std::unique_ptr<Kernels> make_blas_kernels(BufferResource& workspace);
std::unique_ptr<Kernels> make_planned_kernels(BufferResource& workspace, const KernelOptions& options);

/// OpenBLAS's name for the kernel set this processor deserves; empty where its own detection can be trusted.
std::string preferred_openblas_core();
/// What this processor can run.
CpuFacts processor_facts();
bool processor_runs(const std::string& cpu);

}  // namespace sial::kernels
