#pragma once
// The message to the user about a transfer that failed.

#include "runtime/core/base/error.h"
#include "runtime/core/tier/tier.h"

namespace sial {

/// `error`: the errno that completed() got.
EnvironmentError transfer_failure(const Tier& tier, bool write, int error);

}  // namespace sial
