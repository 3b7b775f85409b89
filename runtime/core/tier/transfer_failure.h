#pragma once
// How a transfer that failed is told to the user.

#include "runtime/core/base/error.h"
#include "runtime/core/tier/tier.h"

namespace sial {

/// `error`: the errno that completed() got.
EnvironmentError transfer_failure(const Tier& tier, bool write, int error);

}  // namespace sial
