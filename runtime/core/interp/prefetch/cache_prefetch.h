#pragma once
// Blocks that the look-ahead foresees are named to the kernels shortly before their use, so that what computes
// meanwhile brings them near (kernels/prefetch_queue.h): where a program's blocks do not fit into the last-level cache,
// products of small blocks would wait for memory for as long as they compute. A hint: nothing is waited for or held, no
// result depends on it. Owned by a machine without a device.

#include <cstdint>

#include "runtime/core/bytecode/evaluate/slice.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/memory/resource.h"
#include "runtime/core/store/interface/look_ahead.h"

namespace sial {

class CachePrefetcher {
 public:
  // A block on its way to the cache shares it with what is computed, and lines of smaller blocks are few.
  static constexpr std::int64_t max_bytes = 256 << 10, min_block_bytes = 4 << 10;
  static constexpr std::size_t max_blocks = 8;

  /// `buffers`: the store's.
  CachePrefetcher(BlockLookAhead& store, BufferResource& buffers, Kernels& kernels)
      : store_(store), buffers_(buffers), kernels_(kernels) {}

  /// The block that a get will fetch. False: it is not here yet.
  bool offer(const FetchRequest& get, std::int64_t elements);
  std::int64_t blocks() const { return blocks_; }

 private:
  BlockLookAhead& store_;
  BufferResource& buffers_;
  Kernels& kernels_;
  std::int64_t blocks_ = 0;
};

}  // namespace sial
