#include "runtime/chemistry/integrals/fock_slab.h"

namespace sial {

SlabCode slab_code() { return slab_code_portable(); }

}  // namespace sial
