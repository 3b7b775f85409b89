#include <cpuid.h>
#include <emmintrin.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/kernels/elementwise/fused_rows.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace sial::kernels {
namespace {

bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
}

}  // namespace

std::string preferred_openblas_core() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
  return {};
}

std::string processor_text() {
  std::array<unsigned, 4> r{};
  int family = 0, model = 0;
  if (__get_cpuid(1, &r[0], &r[1], &r[2], &r[3])) {
    const int base = static_cast<int>(r[0] >> 8 & 15);
    family = base == 15 ? base + static_cast<int>(r[0] >> 20 & 255) : base;
    model = static_cast<int>(r[0] >> 4 & 15) + (base == 6 || base == 15 ? static_cast<int>(r[0] >> 16 & 15) * 16 : 0);
  }
  std::string name;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    if (!__get_cpuid(leaf, &r[0], &r[1], &r[2], &r[3])) break;
    char part[16];
    std::memcpy(part, r.data(), sizeof part);
    name.append(part, sizeof part);
  }
  name.resize(std::min(name.find('\0'), name.size()));
  while (!name.empty() && name.back() == ' ') name.pop_back();
  std::string caches;
  for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    if (const long bytes = sysconf(level); bytes > 0)
      caches += fmt::format("{}{}", caches.empty() ? "" : ", ", bytes_text(bytes));
  return fmt::format("{} (family {}, model {}), caches {}", name.empty() ? "x86-64" : name, family, model,
                     caches.empty() ? "unknown" : caches);
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

FusedRowsCode builtin_rows(const CpuFacts& facts) {
  return facts.vector_bits >= 512 ? rows_avx512 : facts.vector_bits >= 256 ? rows_avx2 : rows_portable;
}

void complete_streams() { _mm_sfence(); }

std::int64_t last_level_cache_bytes() {
  // Processors of several dies report the sum of caches of which a core uses one, hence the bound.
  constexpr std::int64_t most = std::int64_t{32} << 20;
  static const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);  // takes microseconds
  return bytes > 0 ? std::min<std::int64_t>(bytes, most) : most;
}

}  // namespace sial::kernels
