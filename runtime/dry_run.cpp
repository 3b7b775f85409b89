#include "runtime/dry_run.h"

#include <ostream>
#include <sstream>

#include "runtime/base/printable.h"
#include "runtime/bytecode/read.h"
#include "runtime/job/results.h"

namespace sial {

int dry_run(const Job& job, const PlanSetting& setting, const CompileFile& compile, std::ostream& out, std::ostream& err) {
  for (const std::string& text : job.warnings) err << "warning: " << printable_name(text) << std::endl;
  for (const std::string& line : job.segment_choices) err << line << std::endl;
  std::vector<std::shared_ptr<const Module>> programs;
  for (const std::string& path : job.programs) {
    const std::vector<std::byte> bytes = program_bytes(path, job, compile, err);
    if (bytes.empty()) return exit_program_error;
    programs.push_back(std::make_shared<const Module>(read_module(bytes, path)));
  }
  SavedArrays saved;
  for (const std::string& path : job.restore_files) {
    ResultsReader reader(path);
    for (const std::string& label : reader.saved_arrays()) saved[label] = reader.layout(label);
  }
  const MemoryPlan plan = plan_memory(programs, job.data, saved, setting);
  const bool fits = plan.fits(setting.memory_per_rank);
  std::ostringstream text;
  print_plan(plan, setting, fits ? 0 : ranks_needed(programs, job.data, saved, setting, plan), text);
  out << printable(text.str());
  return fits ? exit_ok : exit_program_error;
}

}  // namespace sial
