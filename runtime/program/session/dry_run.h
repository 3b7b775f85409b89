#pragma once
// `sialrun --dry-run`: the memory and the time a job will need, printed before it runs. One process, no transport.

#include <iosfwd>

#include "runtime/core/model/memory/memory_model.h"
#include "runtime/core/model/time_model.h"
#include "runtime/program/session/options.h"

namespace sial {

/// Prints the plan on `out` and returns the exit code: exit_ok when the job fits, exit_program_error when it does not.
/// With `options.restart` it is that of the programs that are left, with what the checkpoint's run had chosen; throws
/// InputError where the job has no checkpoint, or it is another job's. The files of its ranks are not looked at.
int dry_run(const Job& stated, const PlanSetting& setting, const TimeSetting& time, const SessionOptions& options,
            const CompileFile& compile, std::ostream& out, std::ostream& err);

}  // namespace sial
