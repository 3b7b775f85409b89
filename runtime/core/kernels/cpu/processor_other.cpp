#include <atomic>

#include "runtime/core/kernels/elementwise/fused_rows.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace sial::kernels {

std::string preferred_openblas_core() { return {}; }
std::string processor_text() { return "not an x86-64 processor"; }

// 64-bit ARM has 128-bit vectors with fused arithmetic; of others nothing is known.
CpuFacts processor_facts() { return {128, false}; }
bool processor_runs(const std::string&) { return false; }

FusedRowsCode builtin_rows(const CpuFacts&) { return rows_portable; }

std::int64_t last_level_cache_bytes() { return std::int64_t{32} << 20; }
void complete_streams() { std::atomic_thread_fence(std::memory_order_seq_cst); }

}  // namespace sial::kernels
