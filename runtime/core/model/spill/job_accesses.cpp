#include "runtime/core/model/spill/job_accesses.h"

#include <fmt/format.h>

#include "runtime/core/model/spill/access_model.h"

namespace sial {
namespace {

std::string line_text(const Module& m, std::int32_t pc) {
  const SourcePlace& at = m.places[static_cast<std::size_t>(pc)];
  return fmt::format("{}:{}", m.files.at(static_cast<std::size_t>(at.file)), at.line);
}

void record_orders(const Module& m, const AccessModel& walk, std::vector<OrderedPardo>& orders) {
  for (const auto& [loop, chosen] : walk.orders())
    if (!chosen.order.as_written())
      orders.push_back({line_text(m, m.loops[static_cast<std::size_t>(loop)].begin), chosen.text, chosen.bytes,
                        chosen.bytes_as_written});
}

}  // namespace

JobAccesses follow_accesses(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                            const SavedArrays& saved, PlanSetting setting, NodeId node, const AccessLimits& limits) {
  setting.max_steps = limits.steps;
  if (!setting.orders_pardos) setting.spill_capacity = 0;
  else if (setting.spill_capacity == 0)  // as the store says in a run
    setting.spill_capacity = static_cast<std::int64_t>(setting.memory_per_rank) * setting.node_size();
  JobAccesses result;
  result.sequence = AccessSequence(limits.accesses);
  result.exact = true;
  JobMemory memory(setting, job, {.rank = 0, .alone = true, .every_access = true});
  load_saved(memory, saved);
  PlannedNodeBlocks blocks(result.sequence, node);
  std::int32_t place = 0;
  for (std::size_t i = 0; i < programs.size() && result.sequence.known(); ++i) {
    result.first_places.push_back(place);
    result.sequence.begin_part();
    if (i == 0) blocks.load(memory.labels);
    memory.ledger.begin_program();
    const std::int32_t number = setting.first_program + static_cast<std::int32_t>(i);
    AccessModel walk(*programs[i], number, place, memory, result.sequence, blocks);
    result.exact &= walk.run();
    record_orders(*programs[i], walk, result.orders);
    place += static_cast<std::int32_t>(programs[i]->code.size());
    if (setting.keep_saved) continue;
    for (const std::string& label : blocks.labels())
      if (!restored_by(programs.subspan(i + 1), label)) blocks.drop(label);
  }
  blocks.read_saved();
  result.known = result.sequence.known() && memory.steps_left > 0;
  return result;
}

std::string place_text(std::span<const std::shared_ptr<const Module>> programs, const JobAccesses& accesses,
                       std::int32_t place) {
  std::size_t program = accesses.first_places.size() - 1;
  while (program > 0 && accesses.first_places[program] > place) --program;
  return line_text(*programs[program], place - accesses.first_places[program]);
}

}  // namespace sial
