#pragma once
// Fault injection. The tests must show that they would notice a wrong optimisation, so every check of legality that a
// pass or the block store makes can be switched off by name, with the environment variable SIALX_FAULT, in builds with
// fault injection (CMake: SIALX_FAULT_INJECTION); others say that it has no effect. sialc and sialrun say loudly that
// it is set; without it fault_enabled() is one comparison with a constant. Read once, before main(); constant
// afterwards.

#include <string>

namespace sial {

enum class Fault : int {
  none = -1,
#define FAULT(name, owner, check) name,
#include "runtime/core/base/fault_injection.def"
#undef FAULT
};

namespace detail {
extern const Fault chosen_fault;
}

/// Whether this check is to be left out. Written where the check is: `if (may_alias(a, b) &&
/// !fault_enabled(Fault::my_alias))`.
inline bool fault_enabled(Fault fault) { return detail::chosen_fault == fault; }

/// Whether any check is to be left out.
inline bool any_fault_enabled() { return detail::chosen_fault != Fault::none; }

/// The message for the user about SIALX_FAULT; empty when it is not set. An unknown name is a SialError.
std::string fault_warning();

}  // namespace sial
