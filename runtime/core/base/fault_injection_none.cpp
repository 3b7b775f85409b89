// Builds without fault injection: no check can be left out. faults.cpp is for those with it.
#include <cstdlib>

#include "runtime/core/base/fault_injection.h"

namespace sial {

namespace detail {
const Fault chosen_fault = Fault::none;
}

std::string fault_warning() {
  const char* name = std::getenv("SIALX_FAULT");
  return name && *name ? "warning: SIALX_FAULT is set and has no effect: this build has no fault injection\n" : "";
}

}  // namespace sial
