#pragma once
// The memory that the ranks of a node share: the directory and the heap of blocks, mapped by all of them. Made
// collectively; the heap lives on while replies on their way hold it.

#include <functional>
#include <memory>
#include <string>

#include "runtime/core/numa/report.h"
#include "runtime/core/store/directory/block_placement.h"
#include "runtime/core/store/directory/directory.h"
#include "runtime/core/store/interface/options.h"
#include "runtime/core/transport/transport.h"

namespace sial {

class NodeStorage {
 public:
  /// `reclaim`: asked, on whatever thread needs it, for memory that this rank can do without.
  /// `problem`: why it has nothing, where blocks may leave memory.
  NodeStorage(Transport& transport, const StoreOptions& options, std::function<bool(std::uint64_t)> reclaim,
              std::function<std::string()> problem);

  NodeHeap& heap() { return *heap_; }
  const std::shared_ptr<NodeHeap>& shared_heap() { return heap_; }
  Directory& directory() { return *directory_; }
  BlockPlacement& placement() { return *placement_; }
  /// The effect of `--numa`, with the pages of this rank's arena as they are now.
  NumaReport numa() const;

 private:
  void set_rules(const NumaTopology& machine, const NumaPlacement& placement, std::size_t heap_at);

  std::shared_ptr<NodeMemory> memory_;
  std::shared_ptr<BlockPlacement> placement_;
  std::shared_ptr<PageCalls> page_calls_;
  int arena_ = 0;
  NumaReport numa_;
  std::shared_ptr<NodeHeap> heap_;  // replies on their way keep it
  std::unique_ptr<Directory> directory_;
};

}  // namespace sial
