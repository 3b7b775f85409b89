#pragma once
// Results of earlier runs that a job has before it runs: the results files that it restores from, and the segments of
// the run that it continues.

#include <string>
#include <vector>

#include "runtime/core/job/job.h"
#include "runtime/core/model/memory/memory_model.h"

namespace sial {

/// The remote arrays that the job may restore, by label: those of its results files, and those given in memory.
SavedArrays saved_arrays(const Job& job);

NamedSegments named_segments(const JobData& data);

/// Options of `--segments` that give the job those of the first results file that it restores from: what it restores
/// was saved over them.
std::vector<std::string> restored_segments(const Job& job);

/// "segments ao, moa = auto: those of SOURCE", of such options.
std::string earlier_segments_line(const std::vector<std::string>& options, const std::string& source);

}  // namespace sial
