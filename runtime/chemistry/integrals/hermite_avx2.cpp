#include "runtime/chemistry/integrals/hermite_loops.h"

namespace sial {

HermiteCode hermite_code_avx2() { return {hermite_integrals, hermite_contract<4, 3>}; }

}  // namespace sial
