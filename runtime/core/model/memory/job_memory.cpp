#include "runtime/core/model/memory/job_memory.h"

#include <algorithm>

#include "runtime/core/memory/node_heap.h"

namespace sial {

bool restored_by(std::span<const std::shared_ptr<const Module>> programs, const std::string& label) {
  for (const auto& module : programs)
    for (const Instruction& in : module->code)
      if (in.op == Opcode::restore_persistent && module->strings[in.c] == label) return true;
  return false;
}

void load_saved(JobMemory& memory, const SavedArrays& saved) {
  std::uint64_t placement = std::uint64_t{1} << 63;
  for (const auto& [name, layout] : saved) {
    SavedBlocks& label = memory.labels[name];
    label.content.placement = placement++;
    label.item = memory.ledger.item("\"" + name + "\"", "saved", true);
    const int rank = static_cast<int>(layout.extents.size());
    BlockIndex block;
    block.rank = rank;
    std::vector<std::size_t> at(layout.extents.size(), 0);
    for (bool more =
             std::all_of(layout.extents.begin(), layout.extents.end(), [](const auto& e) { return !e.empty(); });
         more;) {
      std::int64_t size = 1;
      std::uint64_t key = 0, stride = 1;
      for (int d = 0; d < rank; ++d) {
        size *= layout.extents[d][at[d]];
        block.segment[d] = layout.first_segment[d] + static_cast<std::int32_t>(at[d]);
        key += at[d] * stride;
        stride *= layout.extents[d].size();
      }
      RemoteBlocks::Block b;
      b.bytes = static_cast<std::int64_t>(NodeHeap::chunk_bytes(size));
      b.node = memory.ledger.home(label.content.placement, block);
      memory.ledger.add_entries(b.node, 1);
      memory.ledger.take_remote(label.item, b.node, b.bytes);
      label.content.blocks.emplace(key, b);
      int d = 0;
      for (; d < rank; ++d) {
        if (++at[d] < layout.extents[d].size()) break;
        at[d] = 0;
      }
      more = d < rank;
    }
  }
}

}  // namespace sial
