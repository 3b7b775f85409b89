#pragma once

#include <string>

#include "runtime/core/base/error.h"

namespace sial {

/// For what a sialrun without chemistry is asked.
inline InputError needs_chemistry(const std::string& what, const std::string& where = {}) {
  return InputError(what + " needs chemistry, and this sialrun was built without it",
                    "leave it out, or build with -DSIALX_CHEMISTRY=ON", where);
}

}  // namespace sial
