#include "runtime/super/hermite_code.h"

namespace sial {

HermiteCode hermite_code() { return hermite_code_portable(); }

}  // namespace sial
