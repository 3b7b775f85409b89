#include "runtime/kernels/implementations.h"

namespace sial::kernels {

std::string preferred_openblas_core() { return {}; }

}  // namespace sial::kernels
