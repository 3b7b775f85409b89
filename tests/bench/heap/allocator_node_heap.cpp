// The heap of a node, one arena per rank, in memory of the transport of one process.
#include <algorithm>
#include <thread>

#include "allocators.h"
#include "runtime/core/memory/node_heap.h"
#include "runtime/core/memory/out_of_memory.h"
#include "runtime/core/transport/loopback.h"

namespace heapbench {

namespace {

using sial::Chunk;

class NodeHeapAllocator final : public Allocator {
 public:
  NodeHeapAllocator(const Setup& setup, bool by_bytes)
      : transport_(sial::make_loopback()),
        memory_(transport_->map_node_memory(sial::NodeHeap::bytes_needed(setup.ranks, share(setup), true), "blocks")),
        heap_(memory_->base(), 0, setup.ranks, share(setup), hooks(by_bytes)),
        committed_at_first_(memory_->committed()) {}

  void* take(std::size_t bytes, int rank) override {
    const auto doubles = static_cast<std::int64_t>((bytes + 7) / 8);
    try {
      return heap_.allocate(rank, doubles, [] { return std::string("a block"); })->data();
    } catch (const sial::OutOfMemory&) { return nullptr; }
  }
  void give_back(void* p, std::size_t, int rank) override { heap_.drop_reference(Chunk::of(p), rank); }
  std::size_t taken(const void* p, std::size_t) const override { return Chunk::of(p)->bytes; }
  std::size_t committed() override { return memory_->committed() - committed_at_first_; }

 private:
  /// Once its budget is one of bytes the heap may commit a little more: all that it may commit is the capacity.
  static std::size_t share(const Setup& setup) {
    constexpr std::size_t min_beside = std::size_t{16} << 20;
    const std::size_t beside = std::max(setup.capacity / 33 + 4096, min_beside);
    return (setup.capacity - std::min(beside, setup.capacity / 2)) / static_cast<std::size_t>(setup.ranks);
  }
  sial::HeapHooks hooks(bool by_bytes) {
    sial::HeapHooks h{[this](std::size_t offset, std::size_t bytes) { memory_->commit(offset, bytes); },
                      [] { std::this_thread::yield(); }};
    h.spills = by_bytes;
    h.committed = [this] { return memory_->committed(); };
    h.uncommitted = [this](std::size_t offset, std::size_t bytes) { return memory_->uncommitted(offset, bytes); };
    h.uncommit = [this](std::size_t offset, std::size_t bytes) { memory_->uncommit(offset, bytes); };
    return h;
  }

  std::unique_ptr<sial::Transport> transport_;
  std::shared_ptr<sial::NodeMemory> memory_;
  sial::NodeHeap heap_;
  std::size_t committed_at_first_;
};

}  // namespace

std::unique_ptr<Allocator> make_node_heap(const Setup& setup) {
  return std::make_unique<NodeHeapAllocator>(setup, false);
}

std::unique_ptr<Allocator> make_node_heap_by_bytes(const Setup& setup) {
  return std::make_unique<NodeHeapAllocator>(setup, true);
}

}  // namespace heapbench
