#pragma once
// The programs of a job: read, or compiled with the arrays that the job saves of them, and on all ranks the same.

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/module.h"
#include "runtime/program/session/options.h"
#include "runtime/program/session/rank_tools.h"

namespace sial {

using Programs = std::vector<std::shared_ptr<const Module>>;

/// The modules of a job's programs, as bytes and read: their files, or the compiled sources, with the arrays that the
/// job saves. Another code than exit_ok when a source cannot be read or has errors (reported on `err`).
/// `results_elsewhere`: what is saved goes where no results file is.
ExitCode read_programs(const Job& job, const CompileFile& compile, std::ostream& err,
                       std::vector<std::vector<std::byte>>& contents, Programs& programs,
                       bool results_elsewhere = false);

/// Collective: rank 0 reads the programs, looks at what the job states for them, and hands them to the others. Another
/// code than exit_ok where something is wrong, which rank 0 has said.
int load_programs(RankTools& tools, const CompileFile& compile, const Job& job, Programs& programs);

}  // namespace sial
