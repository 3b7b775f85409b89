#include "runtime/program/sialrun/jobs.h"

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/error.h"
#include "runtime/core/job/numa.h"
#include "runtime/core/job/spill.h"
#include "runtime/program/session/gradient_run.h"

namespace sial {

std::function<int(Session&)> jobs_of(const Arguments& arguments, const Job& job, SessionOptions& options, int rank) {
  const bool differentiates = !job.gradient_scalar.empty();
  if (!differentiates && !arguments.schema) return [&job](Session& session) { return session.run(job); };
  return [&job, rank, differentiates, schema = arguments.schema, outcome = keep_outcomes(options)](Session& session) {
    Gradient gradient;
    const int code = differentiates ? run_gradient(session, rank, job, *outcome, gradient) : session.run(job);
    if (schema && code == exit_ok) {
      schema->scalars = differentiates ? gradient.undisplaced.scalars : outcome->scalars;
      if (differentiates) schema->gradient = gradient.values;
    }
    return code;
  };
}

void set_common_memory(const Arguments& arguments, const std::vector<BatchEntry>& entries, SessionOptions& options) {
  Job common;
  for (const BatchEntry& entry : entries)
    if (const JobArguments& own = entry.arguments; !own.gib.empty())
      throw InputError("`-m`, `-w`, `-v`: the jobs of a batch under MPI have one memory",
                       "give `--memory` on the command line, for all jobs, or run this one by itself",
                       fmt::format("{}:{}", arguments.batch, entry.line));
  for (const OptionId id : batch_defaults) {
    if (is_given(arguments.job, id)) set_option(common, id, arguments.job.settings.at(id));
    for (const BatchEntry& entry : entries)
      if (is_given(entry.arguments, id) &&
          (!is_given(arguments.job, id) || entry.arguments.settings.at(id) != arguments.job.settings.at(id)))
        throw InputError(
            fmt::format("`{} {}`: the jobs of a batch under MPI have one memory", option(id).flags,
                        entry.arguments.settings.at(id)),
            fmt::format("give `{}` on the command line, for all jobs, or run this one by itself", option(id).flags),
            fmt::format("{}:{}", arguments.batch, entry.line));
  }
  options.store.memory_per_rank = common.memory_per_rank;
  options.store.spill = common.spill;
  options.store.numa = common.numa;
}

std::string other_memory(const BatchEntry& entry, const Job& job, const StoreOptions& store) {
  if (job.memory_per_rank == store.memory_per_rank && spill_text(job.spill) == spill_text(store.spill) &&
      numa_text(job.numa) == numa_text(store.numa))
    return {};
  return fmt::format(
      "warning: {}:{}: the memory that the job states is left out: the jobs of a batch under MPI have one, of {} per rank\n  hint: give `--memory`, `--spill` and `--numa` on the command line, for all jobs, or run this one by itself\n",
      job.batch_file, entry.line, bytes_text(static_cast<std::int64_t>(store.memory_per_rank)));
}

void refuse_gradient(const Job& job) {
  if (!job.gradient_scalar.empty())
    throw InputError("a job of a batch has no gradient", "run it by itself, without `--batch`", job.file);
}

void check_stop_after(const SessionOptions& options, const Job& job) {
  if (options.stop_after == 0 || job.checkpoint_every != CheckpointOptions::never) return;
  throw InputError(
      "`--stop-after` counts checkpoints, and this job writes none before it ends",
      "say when to write them: `--checkpoint-every 30` (minutes), `0` (at each barrier), or `programs`; to end after some time, and be continued, `--time-limit` is enough");
}

void check_gradient_options(const Arguments& arguments, const SessionOptions& options, const Job& job) {
  check_gradient(job);
  const auto refuse = [&](bool is_given, const char* option) {
    if (is_given)
      throw InputError(fmt::format("`{}` and `--gradient` do not go together: a gradient is many jobs", option),
                       "leave one of them out", job.file);
  };
  refuse(arguments.simulated, "--simulate");
  refuse(!options.trace.empty(), "--trace");
  refuse(options.restart.has_value(), "--restart");
  refuse(job.checkpoint_every >= 0, "--checkpoint-every");
  refuse(job.time_limit > 0, "--time-limit");
  refuse(options.stop_after > 0, "--stop-after");
}

void begin_schema(Arguments& arguments, std::optional<SchemaRun>& schema, const std::string& version, int ranks) {
  const auto refuse = [&](bool is_given, const char* what) {
    if (is_given)
      throw InputError(fmt::format("{} and `--qcschema` do not go together", what),
                       "an input of QCSchema states the whole job: sialrun --qcschema in.json out.json");
  };
  refuse(arguments.simulated, "`--simulate`");
  refuse(!arguments.batch.empty(), "`--batch`");
  refuse(arguments.dry_run, "`--dry-run`");
  refuse(arguments.describe, "`--describe`");
  refuse(arguments.restart.has_value(), "`--restart`");
  refuse(!arguments.job.dat.empty() || !arguments.job.program_dir.empty(), "a data file of ACES4");
  if (arguments.job.inputs.size() > 1)
    throw InputError("`--qcschema` takes an input and a result", "sialrun --qcschema in.json out.json");
  const std::string out = arguments.job.inputs.empty() ? "-" : arguments.job.inputs.front();
  schema.emplace(arguments.qcschema, out, version, ranks);
  arguments.job.inputs.clear();
  arguments.schema = &*schema;
  arguments.job.stated = &schema->job();
}

}  // namespace sial
