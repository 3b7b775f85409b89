#pragma once
// The forecast of this run's time from an earlier run of the same job: its run.json, read before it is
// replaced.

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/stats/stats.h"

namespace sial {

/// Seconds that each program took in the run whose run.json lies at `path`. Empty when there is none, it cannot be
/// read, or it was not of the same programs (name and hash of the source), values, segments and number of ranks, run
/// from the first to the last: an estimate is then not worth having, and no error.
std::vector<double> earlier_program_seconds(const std::string& path, int ranks,
                                            const std::vector<std::pair<std::string, std::string>>& programs,
                                            const JobFacts& job);

}  // namespace sial
