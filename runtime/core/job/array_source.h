#pragma once
// Arrays that a job gives as datasets of HDF5 files. They are looked at when the job is stated, so that what is wrong
// with a file is said before anything runs, and read when the programs are known: static arrays whole by every rank,
// distributed and served ones in parts (runtime/core/interp/blocks/input_arrays.h).

#include <set>
#include <string>
#include <vector>

#include "runtime/core/job/job_data.h"

namespace sial {

/// Throws SialError naming array, file and dataset for what cannot be an array, or lacks values. `warnings` gets what
/// may be a mistake.
ArraySource look_at_array(const std::string& name, const std::string& file, const std::string& dataset,
                          std::vector<std::string>& warnings);

/// Reads all arrays whole that nobody has read yet, but for those `in_parts`.
void read_arrays(JobData& data, const std::set<std::string>& in_parts = {});

/// Likewise arrays whose values are made when they are needed.
void make_arrays(JobData& data, const std::set<std::string>& in_parts);

}  // namespace sial
