#include "runtime/store/local/node_storage.h"

#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>

namespace sial {

namespace {

constexpr std::size_t page = 4096;

std::size_t pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// Where memory is handed back the heap has several times the address range of its budget.
bool has_unlimited_addresses() {
  rlimit most{};
  return getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur == RLIM_INFINITY;
}

}  // namespace

NodeStorage::NodeStorage(Transport& transport, const StoreOptions& options, std::function<bool(std::uint64_t)> reclaim,
                         std::function<std::string()> problem) {
  const int arenas = transport.node_size();
  const std::size_t share = pages(std::max<std::size_t>(options.memory_per_rank, page));
  const bool spills = !options.spill.empty() || options.make_tiers;
  // What a network has registered must stay where it is: between nodes nothing is handed back that need not be.
  const bool hands_back = spills || (transport.node_count() == 1 && has_unlimited_addresses());
  // Of the blocks that a tier keeps there may be many times more than the heap holds.
  const std::size_t chains = directory_chains(share * static_cast<std::size_t>(arenas) * (spills ? 8 : 1));
  const std::size_t heap_at = pages(Directory::bytes_needed(chains));  // behind the directory
  memory_ = transport.map_node_memory(heap_at + NodeHeap::bytes_needed(arenas, share, hands_back), "block memory");
  HeapHooks hooks{[memory = memory_](std::size_t offset, std::size_t bytes) { memory->commit(offset, bytes); },
                  [&transport] { transport.pause(); }, std::move(reclaim)};
  if (spills) {
    hooks.spills = true;
    hooks.problem = std::move(problem);
  }
  if (hands_back) {
    hooks.committed = [memory = memory_] { return memory->committed(); };
    hooks.uncommitted = [memory = memory_](std::size_t offset, std::size_t bytes) {
      return memory->uncommitted(offset, bytes);
    };
    hooks.uncommit = [memory = memory_](std::size_t offset, std::size_t bytes) { memory->uncommit(offset, bytes); };
  }
  if (!options.record_heap.empty())
    hooks.recorder = std::make_shared<HeapRecorder>(fmt::format("{}.{}", options.record_heap, transport.rank()),
                                                    HeapTraceHeader{.rank = transport.rank(),
                                                                    .node = transport.node().number(),
                                                                    .arena = transport.node_rank(),
                                                                    .arenas = arenas,
                                                                    .spills = spills ? 1u : 0u,
                                                                    .bytes_per_arena = share});
  heap_ = std::make_shared<NodeHeap>(memory_->base(), heap_at, arenas, share, hooks);
  directory_ = std::make_unique<Directory>(memory_->base(), 0, chains, *heap_, transport.node_rank(), hooks);
}

}  // namespace sial
