#include "runtime/sialrun_jobs.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/gradient_run.h"

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

void begin_schema(Arguments& arguments, std::optional<SchemaRun>& schema, const SchemaProvenance& provenance) {
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
  refuse(!arguments.job.dat.empty() || !arguments.job.json.empty() || !arguments.job.program_dir.empty(),
         "a data file of ACES4");
  if (arguments.job.inputs.size() > 1)
    throw InputError("`--qcschema` takes an input and a result", "sialrun --qcschema in.json out.json");
  const std::string out = arguments.job.inputs.empty() ? "-" : arguments.job.inputs.front();
  schema.emplace(arguments.qcschema, out, provenance);
  arguments.job.inputs.clear();
  arguments.schema = &*schema;
  arguments.job.stated = &schema->input().job;
}

}  // namespace sial
