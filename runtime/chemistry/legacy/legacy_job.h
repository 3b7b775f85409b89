#pragma once
// Initial-data files as jobs, and jobs as initial-data files. A job from such a file holds everything the file gives
// (ints, scalars, arrays, segments, under their names in lower case) and a molecule built from its coordinates and
// shell tables when these are complete; its programs are names, found in folders. The molecule's shells, orders and
// norms are those of job_data.h.

#include <string>
#include <vector>

#include "runtime/chemistry/legacy/legacy_dat.h"
#include "runtime/core/job/job.h"

namespace sial {

/// `file` is for messages. Without a molecule its `basis_name` says what is lacking. The job's programs are left empty:
/// they are `job.legacy->programs`, see find_programs. Throws SialError naming the file, the byte of the array that is
/// wrong, and what is wrong with it.
Job legacy_job(LegacyDat dat, const std::string& file);

/// The files of each name, in order: by base name (folder and `.siox`/`.sialx` taken off) in the folders, in order; of
/// two files in one folder the source when it is newer than the module. `NAME.programs` stands for several programs:
/// one per line, relative to its folder. Throws SialError listing the folders searched.
std::vector<std::string> find_programs(const std::vector<std::string>& names, const std::vector<std::string>& folders);
/// Those of one name; none when there are none.
std::vector<std::string> find_program(const std::string& name, const std::vector<std::string>& folders);

/// A job as initial data: what the file it came from held, with the job's present values and segments; or, for other
/// jobs, everything a program and the integral instructions can ask for.
LegacyDat to_legacy_dat(const Job& job);

}  // namespace sial
