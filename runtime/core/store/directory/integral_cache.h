#pragma once
// Blocks that can be computed again, such as integrals: kept in the memory of a node that nothing else needs, under an
// array number of their own in its directory. Any rank of the node may drop them all at any time; who reads one has a
// reference.

#include "runtime/core/store/directory/directory.h"
#include "runtime/core/store/interface/integral_cache.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// No program's array and no label has this number.
inline constexpr std::uint64_t cache_array = ~std::uint64_t{0};

/// Drops them all; their directory entries stay. `arena`: of the calling rank, -1 on a helper thread. True when
/// anything was dropped.
bool drop_cached(Directory& directory, NodeHeap& heap, int arena);

class NodeIntegralCache final : public IntegralCache {
 public:
  NodeIntegralCache(Transport& transport, Directory& directory, NodeHeap& heap, int arena)
      : transport_(transport), directory_(directory), heap_(heap), arena_(arena) {}

  const double* find_cached(const BlockIndex& block, std::int64_t size) override;
  void release_cached(const double* data) override { heap_.drop_reference(Chunk::of(data), arena_); }
  double* allocate_cached(std::int64_t size) override;
  void keep_block(const BlockIndex& block, double* data) override;
  void clear() override { drop_cached(directory_, heap_, arena_); }

 private:
  Transport& transport_;
  Directory& directory_;
  NodeHeap& heap_;
  const int arena_;
};

}  // namespace sial
