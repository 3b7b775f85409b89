#include "runtime/core/job/results.h"
#include "runtime/program/session/gradient_run.h"

namespace sial {

std::shared_ptr<JobOutcome> keep_outcomes(SessionOptions& options) {
  auto outcome = std::make_shared<JobOutcome>();
  options.take_results = [outcome](const JobRunner& runner, const RankState& state, const StoreSnapshots& snapshots) {
    const std::set<std::string> wanted = std::move(outcome->wanted_blocks);
    *outcome = {};
    outcome->wanted_blocks = wanted;
    for (const ProgramOutcome& program : runner.outcomes())
      for (const auto& [name, value] : program.scalars) outcome->scalars[name] = value;
    for (const auto& [label, value] : state.saved_scalars) outcome->scalars.try_emplace(label, value);
    outcome->saved_statics = state.saved_statics;
    for (const auto& [label, layout] : state.saved_remote) {
      if (!outcome->wanted_blocks.contains(label)) continue;
      auto array = std::make_shared<SavedArrayBlocks>();
      array->layout = layout;
      for (const BlockIndex& block : snapshots.saved_blocks(label))
        array->blocks.emplace_back(block, snapshots.saved_block(label, block));
      outcome->saved_blocks[label] = std::move(array);
    }
    outcome->is_set = true;
  };
  return outcome;
}

}  // namespace sial
