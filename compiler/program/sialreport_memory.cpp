#include "compiler/program/sialreport_memory.h"

#include <algorithm>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/model/memory/memory_model.h"
#include "runtime/core/model/spill/spill_model.h"

namespace sial {
namespace {

JobData job_of(const report::JobValues& values) {
  JobData job;
  job.ints = values.ints;
  job.scalars = values.scalars;
  for (const auto& [name, kind] : segment_kinds)
    if (const auto extents = values.segments.find(name); extents != values.segments.end())
      job.segments[kind] = extents->second;
  return job;
}

void set_memory_options(const report::Run& run, PlanSetting& setting) {
  if (const std::string memory = run.option("memory"); !memory.empty()) setting.memory_per_rank = std::stoull(memory);
  setting.copy = run.option("store") == "copy";
  setting.deterministic = run.option("deterministic") == "true";
  setting.static_schedule = run.option("schedule") == "static";
  if (const std::string kernels = run.option("kernels"); !kernels.empty()) setting.kernels = kernels;
}

SavedArrays saved_of(const report::Run& run) {
  SavedArrays saved;
  for (const report::SavedArray& s : run.saved) saved[s.label] = {"", s.first_segment, s.extents};
  return saved;
}

}  // namespace

void predict_memory(const std::shared_ptr<const Module>& module, const report::Run& run,
                    report::Prediction& prediction) {
  const report::Target& target = prediction.target;
  PlanSetting setting;
  setting.ranks = target.ranks;
  setting.ranks_per_node = target.ranks_per_node;
  setting.servers = target.servers;
  set_memory_options(run, setting);
  setting.first_program = run.number;
  try {
    const MemoryModel plan = model_memory(std::vector{module}, job_of(*run.job), saved_of(run), setting);
    prediction.memory = {static_cast<double>(plan.peak), static_cast<double>(plan.least), plan.exact};
  } catch (const SialError& error) { prediction.no_memory = error.what(); }
}

std::optional<report::TierPrediction> predicted_tiers(const report::Job& job) {
  if (job.programs.empty()) return {};
  const report::Run& first = job.programs.front().run;
  if (!first.job || !first.tier_movement()) return {};
  std::vector<std::shared_ptr<const Module>> programs;
  for (const auto& [name, hash] : first.programs) {
    const report::JobProgram* program = job.find(name);
    if (!program || !program->module || program->module->source_hash != hash) return {};
    programs.push_back(std::make_shared<const Module>(*program->module));
  }
  PlanSetting setting;
  setting.ranks = first.ranks;
  setting.servers = first.servers;
  const int nodes = std::max(1, first.nodes - first.servers);
  setting.ranks_per_node = (first.ranks + nodes - 1) / nodes;
  set_memory_options(first, setting);
  setting.orders_pardos = first.option("pardo_order").empty();
  setting.spill = {{TierKind::disk, "", 0}};
  try {
    const JobData data = job_of(*first.job);
    const SavedArrays saved = saved_of(first);
    const MemoryModel plan = model_memory(programs, data, saved, setting);
    const SpillModel spill = model_spill(programs, data, saved, setting, plan, few_accesses);
    if (!spill.known) return {};
    const auto owners = static_cast<double>(first.servers > 0 ? first.servers : nodes);
    const auto of_all = [&](const ReplayResult& r) {
      return report::TierBytes{owners * static_cast<double>(r.total.bytes_written),
                               owners * static_cast<double>(r.total.bytes_read)};
    };
    return report::TierPrediction{of_all(spill.moved), of_all(spill.optimum)};
  } catch (const SialError&) { return {}; }
}

}  // namespace sial
