#pragma once
// The facts about a program for its editor: compiles it as it stands in memory, and finds the job that runs it and the
// statistics of the last run. Belongs to command lines, which alone may know both the compiler and the job files of the
// runtime.

#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/bound.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/tools/facts/facts.h"

namespace sial {

struct HintRequest {
  std::string path;                           // of the program
  CompileOptions options;                     // imports are searched in the job's folders first
  std::string job_file, run_file;             // empty: searched beside the program
  std::optional<report::JobValues> job = {};  // instead of a job file
  std::int64_t max_steps = analysis::Job{}.max_steps;
  std::vector<std::string>* looked_for =
      nullptr;  // gets the files that may hold the run, whether they are there or not
};

/// Nothing when the program has errors, which `emitter` has then. What is missing besides is said in the facts' notes;
/// a job file or run that was named and cannot be used throws SialError.
std::optional<facts::Facts> hints_of(const HintRequest& request, SourceManager& sources, Emitter& emitter);

/// A job's numbers as run.json has them.
report::JobValues values_of(const analysis::Job& job);

/// The folders in which a program's job and the statistics of its run are sought: its folder, and where a link leads to
/// it also that of the file itself.
std::vector<std::string> folders_of_job(const std::string& program);

/// The newest *.toml of these folders whose `programs` name it; empty: there is none.
std::string find_job_file(const std::string& program);

/// The folders in which imports of the program are searched first: `include` of the newest job file that names it,
/// whatever else is wrong in that.
std::vector<std::string> job_include_dirs(const std::string& program);

/// "12: 8.2 MB x 120" for each line that has something to say, those of imported files with their names, then the
/// arrays. `long_texts`: all that is known, below the line's number.
std::string hints_text(const facts::Facts& facts, bool long_texts);

}  // namespace sial
