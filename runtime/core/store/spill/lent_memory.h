#pragma once
// What this node lends to others: chunks of its heap, which count as in use there and are lent for good. The node's own
// need comes first: see LendingRule. Its first rank is the one that is asked, and others may copy to and from all of
// it.

#include <cstdint>
#include <mutex>

#include "runtime/core/memory/node_heap.h"
#include "runtime/core/transport/remote_memory.h"

namespace sial {

/// How much a node lends. An eighth of its memory stays free in any case, and half of it is lent at most by a node that
/// computes.
struct LendingRule {
  std::uint64_t most = 0;    // bytes; 0: a node that only serves lends all it has, another one nothing, for what its
  bool only_serves = false;  // statements will need is not known
};

class LentMemory final : public Lender {
 public:
  LentMemory(NodeHeap& heap, int arena, const LendingRule& rule) : heap_(heap), arena_(arena), rule_(rule) {}
  Loan lend(std::uint64_t bytes) override;
  std::byte* lent(std::uint64_t at) override { return reinterpret_cast<std::byte*>(heap_.chunk(at)->data()); }

 private:
  std::uint64_t allowed() const;

  NodeHeap& heap_;
  const int arena_;
  const LendingRule rule_;
  std::mutex mutex_;  // of the rest
  std::uint64_t lent_ = 0;
};

}  // namespace sial
