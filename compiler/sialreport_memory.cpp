#include "compiler/sialreport_memory.h"

#include "runtime/base/error.h"
#include "runtime/interp/blocks/bind.h"
#include "runtime/prediction/memory_model.h"

namespace sial {
namespace {

constexpr IndexKind kinds[] = {IndexKind::ao, IndexKind::mo, IndexKind::moa, IndexKind::mob, IndexKind::la};

JobData job_of(const report::JobValues& values) {
  JobData job;
  job.ints = values.ints;
  job.scalars = values.scalars;
  for (const IndexKind kind : kinds)
    if (const auto extents = values.segments.find(kind_name(kind)); extents != values.segments.end())
      job.segments[kind] = extents->second;
  return job;
}

}  // namespace

void predict_memory(const std::shared_ptr<const Module>& module, const report::Run& run,
                    report::Prediction& prediction) {
  const report::Target& target = prediction.target;
  PlanSetting setting;
  setting.ranks = target.ranks;
  setting.ranks_per_node = target.ranks_per_node;
  setting.servers = target.servers;
  if (const std::string memory = run.option("memory"); !memory.empty()) setting.memory_per_rank = std::stoull(memory);
  setting.copy = run.option("store") == "copy";
  setting.deterministic = run.option("deterministic") == "true";
  setting.static_schedule = run.option("schedule") == "static";
  if (const std::string kernels = run.option("kernels"); !kernels.empty()) setting.kernels = kernels;
  setting.first_program = run.number;
  SavedArrays saved;
  for (const report::SavedArray& s : run.saved) saved[s.label] = {"", s.first_segment, s.extents};
  try {
    const MemoryModel plan = model_memory(std::vector{module}, job_of(*run.job), saved, setting);
    prediction.memory = {static_cast<double>(plan.peak), static_cast<double>(plan.least), plan.exact};
  } catch (const SialError& error) { prediction.no_memory = error.what(); }
}

}  // namespace sial
