#include "runtime/core/interp/prefetch/cache_prefetch.h"

namespace sial {

bool CachePrefetcher::offer(const FetchRequest& get, std::int64_t elements) {
  if (elements * 8 < min_block_bytes) return true;
  const BlockLookAhead::Foreseen found = store_.foreseen(get.array, get.block, elements, true);
  if (!found.data) return !found.under_way;
  kernels_.expect(found.data, elements);
  buffers_.deallocate(const_cast<double*>(found.data), elements);
  ++blocks_;
  return true;
}

}  // namespace sial
