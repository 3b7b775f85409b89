#include "runtime/program/session/dry_run.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/printable.h"
#include "runtime/core/interp/blocks/given_arrays.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/model/earlier_results.h"
#include "runtime/core/model/segment_choice.h"
#include "runtime/core/model/spill/spill_model.h"
#include "runtime/program/session/gradient_run.h"

namespace sial {

namespace {

/// Of the programs from this one on. How much memory a program needs does not depend on what has run before, but for
/// what was saved.
MemoryModel rest_of(MemoryModel plan, std::size_t first) {
  if (!plan.complete) first = std::min(first, plan.programs.size() - 1);
  plan.programs.erase(plan.programs.begin(), plan.programs.begin() + static_cast<std::ptrdiff_t>(first));
  static_cast<MemoryFigures&>(plan) = {};
  for (const ProgramNeed& program : plan.programs) plan.take_larger(program);
  return plan;
}

/// "the restart goes on in program 2 of 3, ..."
std::string rest_text(const CheckpointIndex& from, std::size_t programs) {
  return fmt::format("planned from the checkpoint of {} ({}): program {} of {}{}\n", from.written, from.place,
                     from.program + 1, programs,
                     from.inside                                             ? ", counted from its beginning"
                     : static_cast<std::size_t>(from.program) + 1 < programs ? " and those behind it"
                                                                             : "");
}

}  // namespace

int dry_run(const Job& stated, const PlanSetting& setting, const TimeSetting& time, const SessionOptions& options,
            const CompileFile& compile, std::ostream& out, std::ostream& err) {
  for (const std::string& text : stated.warnings) err << "warning: " << printable_name(text) << std::endl;
  std::vector<std::shared_ptr<const Module>> programs;
  std::vector<std::vector<std::byte>> contents;
  if (const ExitCode code = read_programs(stated, compile, err, contents, programs); code != exit_ok) return code;
  check_gradient_scalar(stated, programs);
  check_values(stated, programs, options.machine.plugins, err);
  Job job = stated;
  take_extents(job, programs);
  std::optional<CheckpointIndex> from;
  std::vector<std::string> followed;
  if (options.restart) {
    read_given_arrays(job, programs);
    from = read_checkpoints(checkpoint_folder_of(job, options.restart), err).last;
    followed = follow_checkpoint(*from, job);
    check_restored_files(job);  // the plan needs their sizes
  } else {
    read_whole_arrays(job.data, programs);
  }
  const SavedArrays saved = saved_arrays(job);
  SegmentChoice choice = choose_segments(job, programs, saved, setting, time);
  for (const std::string& option : choice.options) apply_segments(job, option);
  if (!job.values_of_arrays.empty()) take_extents(job, programs);
  for (const auto& lines : {job.segment_choices, followed, choice.lines})
    for (const std::string& line : lines) err << line << std::endl;
  std::ostringstream text;
  std::size_t done = 0;
  if (from) {
    JobIdentity identity = identity_of(job, programs, options);
    identity.plugins = from->job.plugins;  // those of the job are not loaded here
    check_restart(*from, identity, checkpoint_folder_of(job, options.restart), options);
    done = static_cast<std::size_t>(from->program);
    text << rest_text(*from, programs.size());
    if (choice.predicted.size() == programs.size())
      choice.predicted.erase(choice.predicted.begin(), choice.predicted.begin() + from->program);
  }
  const MemoryModel whole = model_memory(programs, job.data, saved, setting), plan = rest_of(whole, done);
  bool fits = plan.fits(setting.memory_per_rank);
  const bool asks_for_ranks = !fits && setting.spill.empty();
  print_plan(plan, setting, asks_for_ranks ? ranks_needed(programs, job.data, saved, setting, plan) : RanksNeeded{},
             text);
  if (!fits && plan.complete) {
    const SpillModel spill = model_spill(programs, job.data, saved, setting, whole);
    print_spill(spill, setting, text);
    fits = !setting.spill.empty() && spill.fits(setting.memory_per_rank);
  }
  if (const std::string predicted = predicted_text(choice.predicted); !predicted.empty()) text << predicted << '\n';
  if (!job.gradient_scalar.empty()) text << gradient_plan(job);
  out << printable(text.str());
  return fits ? exit_ok : exit_program_error;
}

}  // namespace sial
