#pragma once
// Job files, `job.toml`.

#include <string>
#include <vector>

#include "runtime/core/job/job.h"

namespace sial {

/// Throws SialError with `where` = file:line:column for everything that is wrong in the file or in a file it names.
/// Arrays that are datasets of HDF5 files are looked at only: read_arrays() reads them.
Job read_job_file(const std::string& path);

/// What a job file says of compiling: as in Job, whether or not the programs are there.
struct JobImports {
  std::vector<std::string> programs, include_dirs;
};
/// Throws SialError when it cannot be read as TOML; what else is wrong in it is left to read_job_file().
JobImports read_job_imports(const std::string& path);

}  // namespace sial
