#include "runtime/prediction/spill/job_accesses.h"

#include <fmt/format.h>

#include "runtime/prediction/spill/access_walk.h"

namespace sial {

JobAccesses follow_accesses(std::span<const std::shared_ptr<const Module>> programs, const JobData& job,
                            const SavedArrays& saved, PlanSetting setting, NodeId node, const AccessLimits& limits) {
  setting.most_steps = limits.steps;
  JobAccesses result;
  result.sequence = AccessSequence(limits.accesses);
  result.exact = true;
  JobMemory memory(setting, job, {.rank = 0, .alone = true, .every_access = true});
  load_saved(memory, saved);
  NodeBlocks blocks(result.sequence, node);
  std::int32_t place = 0;
  for (std::size_t i = 0; i < programs.size() && result.sequence.known(); ++i) {
    result.first_places.push_back(place);
    result.sequence.begin_part();
    if (i == 0) blocks.load(memory.labels);
    memory.ledger.begin_program();
    const std::int32_t number = setting.first_program + static_cast<std::int32_t>(i);
    result.exact &= AccessWalk(*programs[i], number, place, memory, result.sequence, blocks).run();
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
  const Module& m = *programs[program];
  const SourcePlace& at = m.places[static_cast<std::size_t>(place - accesses.first_places[program])];
  return fmt::format("{}:{}", m.files.at(static_cast<std::size_t>(at.file)), at.line);
}

}  // namespace sial
