#include "runtime/chemistry/integrals/hermite_loops.h"

namespace sial {

HermiteCode hermite_code_portable() { return {hermite_integrals, hermite_contract<2, 2>}; }

}  // namespace sial
