#include <emmintrin.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/kernels/chain_rows.h"
#include "runtime/kernels/implementations.h"

namespace sial::kernels {
namespace {

bool has_v3() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"); }
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
}

}  // namespace

std::string preferred_openblas_core() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
  return {};
}

CpuFacts processor_facts() {
  __builtin_cpu_init();
  if (has_v4()) return {512, true};
  if (has_v3()) return {256, true};
  return {128, false};
}

bool processor_runs(const std::string& cpu) {
  __builtin_cpu_init();
  if (cpu == "x86-64-v4") return has_v4();
  if (cpu == "x86-64-v3") return has_v3();
  return cpu == "x86-64-v2" && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

ChainRowsCode builtin_rows(const CpuFacts& facts) { return facts.vector_bits >= 512 ? rows_avx512 : facts.vector_bits >= 256 ? rows_avx2 : rows_portable; }

void settle_streams() { _mm_sfence(); }

std::int64_t last_level_cache_bytes() {
  // Processors of several dies report the sum of caches of which a core uses one, hence the bound.
  constexpr std::int64_t most = std::int64_t{32} << 20;
  static const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);  // takes microseconds
  return bytes > 0 ? std::min<std::int64_t>(bytes, most) : most;
}

}  // namespace sial::kernels
