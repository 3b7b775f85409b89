#pragma once
// A rank's buffers from its own arena of the node heap (and its siblings' when that is full). Owned by the rank; the
// heap outlives it. Buffers are chunks with reference counts: this rank's own blocks and the blocks of the store can be
// shared.

#include "runtime/core/memory/node_heap.h"

namespace sial {

class ArenaPool final : public BufferResource {
 public:
  ArenaPool(NodeHeap& heap, int arena) : heap_(heap), arena_(arena) {}
  double* allocate(std::int64_t n) override;
  void deallocate(double* p, std::int64_t n) noexcept override;
  bool share(const double* p) override {
    heap_.add_reference(Chunk::of(p));
    return true;
  }
  bool sole(const double* p) const override { return heap_.sole_reference(Chunk::of(p)); }
  std::uint64_t content(const double* p) const override {
    return Chunk::of(p)->content.load(std::memory_order_relaxed);
  }
  std::span<const std::byte> lasting(const double* p) const override { return heap_.committed(Chunk::of(p)); }
  ResourceStats stats() const override { return heap_.stats(arena_); }

 private:
  NodeHeap& heap_;
  int arena_;
};

}  // namespace sial
