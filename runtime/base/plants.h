#pragma once
// Bugs on purpose. The tests must show that they would notice a wrong optimisation, so every check of legality that a pass
// or the block store makes can be switched off by name, with the environment variable SIALX_PLANT, in builds with
// fault injection (CMake: SIALX_FAULT_INJECTION); others say that it has no effect. sialc and sialrun say loudly that it is set; without it
// planted() is one comparison with a constant. Read once, before main(); constant afterwards.

#include <string>

namespace sial {

enum class Plant : int {
  none = -1,
#define PLANT(name, owner, check) name,
#include "runtime/base/plants.def"
#undef PLANT
};

namespace detail {
extern const Plant chosen_plant;
}

/// Whether this check is to be left out. Written where the check is: `if (may_alias(a, b) && !planted(Plant::my_alias))`.
inline bool planted(Plant plant) { return detail::chosen_plant == plant; }

/// Whether any check is to be left out.
inline bool any_planted() { return detail::chosen_plant != Plant::none; }

/// What to tell the user about SIALX_PLANT; empty when it is not set. An unknown name is a SialError.
std::string plant_warning();

}  // namespace sial
