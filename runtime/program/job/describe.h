#pragma once
// What a job consists of, for people: molecule, basis, segments, programs, values, arrays. Nothing is run for it.

#include <string>
#include <vector>

#include "runtime/core/job/job.h"

namespace sial {

/// `folders`: where the programs of an initial-data file are looked for; one that is not there is said so.
std::string describe_job(const Job& job, const std::vector<std::string>& folders);

}  // namespace sial
