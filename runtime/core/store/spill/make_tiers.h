#pragma once
// The tiers that a job asks for, on a node.

#include "runtime/core/memory/node_heap.h"
#include "runtime/core/store/interface/options.h"

namespace sial {

/// The tiers of `options.spill`. Collective over the ranks of a node: the first one makes the files, the others open
/// them; over all ranks of the job where nodes provide memory, out of `heap`. Throws EnvironmentError where a directory
/// is of no use, or there is no other node.
TierList make_tiers(Transport& transport, const StoreOptions& options, NodeHeap& heap);

}  // namespace sial
