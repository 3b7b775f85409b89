#include "runtime/chemistry/integrals/fock_slab.h"

namespace sial {

SlabCode slab_code() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return slab_code_avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return slab_code_avx2();
  return slab_code_portable();
}

}  // namespace sial
