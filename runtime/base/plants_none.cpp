// Builds without fault injection: no check can be left out. plants.cpp is for those with it.
#include <cstdlib>

#include "runtime/base/plants.h"

namespace sial {

namespace detail {
const Plant chosen_plant = Plant::none;
}

std::string plant_warning() {
  const char* name = std::getenv("SIALX_PLANT");
  return name && *name ? "warning: SIALX_PLANT is set and has no effect: this build has no fault injection\n" : "";
}

}  // namespace sial
