#include "runtime/chemistry/integrals/fock_slab_loops.h"

namespace sial {

SlabCode slab_code_portable() { return {run_slab<true>, run_slab<false>}; }

}  // namespace sial
