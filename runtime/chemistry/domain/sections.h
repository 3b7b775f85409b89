#pragma once
// The sections of job files that state what a job is about. Known without chemistry, too: refused by name then.

#include <vector>

#include "runtime/core/job/options.h"

namespace sial {

inline std::vector<KeySection> chemistry_sections() {
  return {{"molecule",
           {"xyz", "charge", "multiplicity", "basis", "spherical", "frozen_core", "ecp", "fragments",
            "fragment_charges", "trexio"}},
          {"hamiltonian", {"fcidump", "frozen_core"}}};
}

}  // namespace sial
