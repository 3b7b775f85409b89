#include "runtime/dry_run.h"

#include <ostream>
#include <sstream>

#include "runtime/base/printable.h"
#include "runtime/bytecode/read.h"
#include "runtime/gradient_run.h"
#include "runtime/interp/blocks/given_arrays.h"
#include "runtime/job/array_source.h"
#include "runtime/prediction/earlier_results.h"
#include "runtime/prediction/segment_choice.h"
#include "runtime/prediction/spill/spill_model.h"

namespace sial {

int dry_run(const Job& stated, const PlanSetting& setting, const TimeSetting& time, const CompileFile& compile,
            std::ostream& out, std::ostream& err) {
  for (const std::string& text : stated.warnings) err << "warning: " << printable_name(text) << std::endl;
  std::vector<std::shared_ptr<const Module>> programs;
  std::vector<std::vector<std::byte>> contents;
  if (const ExitCode code = read_programs(stated, compile, err, contents); code != exit_ok) return code;
  for (std::size_t p = 0; p < contents.size(); ++p)
    programs.push_back(std::make_shared<const Module>(read_module(contents[p], stated.programs[p])));
  check_gradient_scalar(stated, programs);
  Job job = stated;
  take_extents(job, programs);
  read_arrays(job.data, arrays_read_in_parts(programs));
  const SavedArrays saved = saved_arrays(job);
  const SegmentChoice choice = choose_segments(job, programs, saved, setting, time);
  for (const std::string& option : choice.options) apply_segments(job, option);
  if (!job.values_of_arrays.empty()) take_extents(job, programs);
  for (const auto& lines : {job.segment_choices, choice.lines})
    for (const std::string& line : lines) err << line << std::endl;
  const MemoryModel plan = model_memory(programs, job.data, saved, setting);
  bool fits = plan.fits(setting.memory_per_rank);
  const bool asks_for_ranks = !fits && setting.spill.empty();
  std::ostringstream text;
  print_plan(plan, setting, asks_for_ranks ? ranks_needed(programs, job.data, saved, setting, plan) : 0, text);
  if (!fits) {
    const SpillModel spill = model_spill(programs, job.data, saved, setting, plan);
    print_spill(spill, setting, text);
    fits = !setting.spill.empty() && spill.fits(setting.memory_per_rank);
  }
  if (const std::string predicted = predicted_text(choice.predicted); !predicted.empty()) text << predicted << '\n';
  if (!job.gradient_scalar.empty()) text << gradient_plan(job);
  out << printable(text.str());
  return fits ? exit_ok : exit_program_error;
}

}  // namespace sial
