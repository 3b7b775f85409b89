#pragma once
// The tiers that a job asks for, on a node.

#include "runtime/store/options.h"
#include "runtime/tier/request.h"

namespace sial {

/// Collective over the ranks of a node: the first one makes the files, the others open them. Throws EnvironmentError
/// where a directory is of no use, or a kind of tier is not available.
TierList make_tiers(Transport& transport, const SpillRequest& request);

}  // namespace sial
