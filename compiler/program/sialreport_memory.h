#pragma once
// Memory of a prediction: the planner of `sialrun --dry-run`, asked with what a run.json says of its job. Belongs to
// the command line, which alone may know both the report and the planner.

#include <memory>
#include <optional>

#include "compiler/report/job.h"
#include "compiler/report/prediction/predict.h"

namespace sial {

/// Fills `memory`, or `no_memory` with the reason.
void predict_memory(const std::shared_ptr<const Module>& module, const report::Run& run,
                    report::Prediction& prediction);

/// Bytes that blocks move in a job that does not fit into memory, of which some have; nothing where that is not known:
/// without all modules, or for more accesses than are soon followed.
std::optional<report::TierPrediction> predicted_tiers(const report::Job& job);

}  // namespace sial
