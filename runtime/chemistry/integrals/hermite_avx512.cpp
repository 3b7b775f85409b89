#include "runtime/chemistry/integrals/hermite_loops.h"

namespace sial {

HermiteCode hermite_code_avx512() { return {hermite_integrals, hermite_contract<8, 3>}; }

}  // namespace sial
