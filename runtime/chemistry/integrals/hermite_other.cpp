#include "runtime/chemistry/integrals/hermite_code.h"

namespace sial {

HermiteCode hermite_code() { return hermite_code_portable(); }

}  // namespace sial
