#pragma once
// What the results files that a job restores from say before it runs.

#include <map>
#include <string>
#include <vector>

#include "runtime/job/job_file.h"
#include "runtime/plan/memory_plan.h"

namespace sial {

/// The remote arrays that they hold, by label.
SavedArrays saved_arrays(const Job& job);

/// Options of `--segments` that give the job the segments of the first file, for the kinds that the job leaves to us: what it restores was saved
/// over those. Empty where they are the job's already, where the file does not say, or where they do not fit the job.
std::vector<std::string> earlier_segments(const Job& job);

}  // namespace sial
