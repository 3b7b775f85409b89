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
#include "runtime/core/model/earlier_results.h"
#include "runtime/core/model/segment_choice.h"
#include "runtime/core/model/spill/spill_model.h"
#include "runtime/program/session/gradient_run.h"
#include "runtime/program/session/prepared_job.h"
#include "runtime/program/session/restart.h"
#include "runtime/program/session/stated_names.h"

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
                     : static_cast<std::size_t>(from.program) + 1 < programs ? " and those after it"
                                                                             : "");
}

}  // namespace

int dry_run(const Job& stated, const PlanSetting& setting, const TimeSetting& time, const SessionOptions& options,
            const CompileFile& compile, std::ostream& out, std::ostream& err) {
  for (const std::string& text : stated.warnings) err << "warning: " << printable_name(text) << std::endl;
  Programs programs;
  std::vector<std::vector<std::byte>> contents;
  if (const ExitCode code = read_programs(stated, compile, err, contents, programs); code != exit_ok) return code;
  check_gradient_scalar(stated, programs);
  check_values(stated, programs, options.machine.plugins, err);
  PreparedJob prepared(stated, programs);
  prepared.take_ranges();
  std::optional<CheckpointIndex> from;
  const std::string checkpoint = checkpoint_folder_of(stated, options.restart);
  if (options.restart) {
    prepared.read_arrays();
    from = read_checkpoints(checkpoint, err).last;
    prepared.follow(*from);
    check_restored_files(stated);  // the plan needs their sizes
  } else {
    prepared.read_arrays_of_files();
  }
  const SavedArrays saved = saved_arrays(prepared.job());
  SegmentChoice choice = choose_segments(prepared.job(), programs, saved, setting, time);
  prepared.choose(choice.options, choice.lines);
  prepared.say_choices(err);
  const Job& job = prepared.job();
  std::ostringstream text;
  std::size_t done = 0;
  if (from) {
    JobIdentity identity = identity_of(job, programs, options);
    identity.plugins = from->job.plugins;  // those of the job are not loaded here
    check_restart(*from, identity, checkpoint, options);
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
