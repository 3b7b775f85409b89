#pragma once
// The memory of this node for others: chunks of its heap, which count as in use there and are given for good. The
// node's own need comes first: see ProviderLimits. Its first rank is the one that is asked, and others may copy to and
// from all of it.

#include <cstdint>
#include <mutex>

#include "runtime/core/memory/node_heap.h"
#include "runtime/core/transport/remote_memory.h"

namespace sial {

/// The memory that a node provides. An eighth of its memory stays free in any case, and half of it is provided at most
/// by a node that computes.
struct ProviderLimits {
  std::uint64_t most = 0;    // bytes; 0: a node that only serves provides all it has, another one nothing, for what its
  bool only_serves = false;  // statements will need is not known
};

class NodeMemoryProvider final : public MemoryProvider {
 public:
  NodeMemoryProvider(NodeHeap& heap, int arena, const ProviderLimits& rule) : heap_(heap), arena_(arena), rule_(rule) {}
  RemoteChunk provide(std::uint64_t bytes) override;
  std::byte* provided(std::uint64_t at) override { return reinterpret_cast<std::byte*>(heap_.chunk(at)->data()); }

 private:
  std::uint64_t allowed() const;

  NodeHeap& heap_;
  const int arena_;
  const ProviderLimits rule_;
  std::mutex mutex_;  // of the rest
  std::uint64_t provided_ = 0;
};

}  // namespace sial
