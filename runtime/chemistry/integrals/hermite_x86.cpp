#include "runtime/chemistry/integrals/hermite_code.h"

namespace sial {

HermiteCode hermite_code() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return hermite_code_avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return hermite_code_avx2();
  return hermite_code_portable();
}

}  // namespace sial
