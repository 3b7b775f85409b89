#pragma once
// Whether a program could tell in which order the iterations of a pardo run. No program may depend on it, as ranks draw
// iterations as they come; but output, and what one iteration leaves for the next on its rank, keep the order that the
// source has where one rank runs.

#include <cstdint>
#include <string>

#include "runtime/bytecode/module.h"

namespace sial {

/// How it could, as the end of a sentence: "its body prints". Empty: it could not.
std::string order_seen_by(const Module& module, std::int32_t loop);

}  // namespace sial
