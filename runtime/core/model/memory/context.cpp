#include "runtime/core/model/memory/context.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/memory/node_heap.h"

namespace sial {

std::int64_t heap_bytes(std::int64_t doubles) {
  constexpr std::int64_t most = std::int64_t{1} << 49;  // 4.5 PB: sums of those that are followed fit into 64 bits
  return static_cast<std::int64_t>(NodeHeap::chunk_bytes(std::min(doubles, most)));
}

std::uint64_t array_placement(std::int32_t sequence, ArrayId array) {
  return std::uint64_t{static_cast<std::uint32_t>(sequence)} << 32 | static_cast<std::uint32_t>(array.number());
}

ModelContext::ModelContext(const Module& m, std::int32_t number, JobMemory& job_memory)
    : module(m),
      sequence(number),
      memory(job_memory),
      ledger(job_memory.ledger),
      bound(bind_program(m, job_memory.job)),
      facts(job_memory.view.every_access ? access_facts(m)
                                         : loop_facts(m, job_memory.setting.copy || job_memory.ledger.several_nodes())),
      items_(m.arrays.size(), -1) {}

void ModelContext::fail(std::int32_t pc, const std::string& message, const std::string& hint) const {
  const SourcePlace& p = module.places[static_cast<std::size_t>(pc)];
  throw SialError(message, hint,
                  fmt::format("{}:{}:{}", module.files.at(static_cast<std::size_t>(p.file)), p.line, p.column));
}

int ModelContext::item_of(ArrayId id) {
  int& item = items_[id.at()];
  const ArrayRow& row = module.arrays[id.at()];
  if (item < 0) item = ledger.item(row.name, std::string(array_kind_text(row.kind)), is_remote(row.kind));
  return item;
}

ModelMemory ModelContext::take(int item, std::int64_t doubles) {
  const ModelMemory taken{reinterpret_cast<double*>(next_address_), heap_bytes(doubles), false};
  next_address_ += static_cast<std::uintptr_t>(taken.bytes);
  ledger.take(item, taken.bytes);
  return taken;
}

}  // namespace sial
