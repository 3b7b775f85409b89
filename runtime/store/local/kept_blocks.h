#pragma once
// Blocks that can be computed again, such as integrals: kept in the memory of a node that nothing else needs, under an
// array number of their own in its directory. Any rank of the node may drop them all at any time; who reads one has a
// reference.

#include "runtime/store/local/directory.h"

namespace sial {

/// No program's array and no label has this number.
inline constexpr std::uint64_t kept_array = ~std::uint64_t{0};

/// Drops them all; their directory entries stay. `arena`: of the calling rank, -1 on a helper thread. True when
/// anything was dropped.
bool drop_kept(Directory& directory, NodeHeap& heap, int arena);

}  // namespace sial
