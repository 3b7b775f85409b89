#pragma once
// Whether a program could tell in which order the iterations of a pardo run. No program may depend on it, as ranks draw
// iterations as they come; but output, and what one iteration leaves for the next on its rank, keep the order that the
// source has where one rank runs. So do iterations that are dealt out in turn by conditions that may differ between
// ranks.

#include <cstdint>
#include <string>

#include "runtime/core/bytecode/module.h"

namespace sial {

/// The reason why it could, as a sentence without full stop: "its body prints". Empty: it could not.
std::string order_seen_by(const Module& module, std::int32_t loop);

}  // namespace sial
