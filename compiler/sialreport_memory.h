#pragma once
// Memory of a prediction: the planner of `sialrun --dry-run`, asked with what a run.json says of its job. Belongs to
// the command line, which alone may know both the report and the planner.

#include <memory>

#include "compiler/report/prediction/predict.h"

namespace sial {

/// Fills `memory`, or `no_memory` with the reason.
void predict_memory(const std::shared_ptr<const Module>& module, const report::Run& run,
                    report::Prediction& prediction);

}  // namespace sial
