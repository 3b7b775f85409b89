#pragma once
// What one run of sialrun carries out in its session: a job; with `--gradient` displaced ones too; with `--qcschema`
// for a result in JSON.

#include <functional>
#include <optional>

#include "runtime/program/session/schema_run.h"
#include "runtime/program/session/session.h"
#include "runtime/program/sialrun/arguments.h"

namespace sial {

/// For a session that is made with these options, on this rank. The arguments and the job outlive it.
std::function<int(Session&)> jobs_of(const Arguments& arguments, const Job& job, SessionOptions& options, int rank);

/// The jobs of a batch in one world share its store: its memory is what the command line says. Throws InputError where
/// a line says something else.
void set_common_memory(const Arguments& arguments, const std::vector<BatchEntry>& entries, SessionOptions& options);
/// A warning where the job file of a line says something else, or nothing.
std::string other_memory(const BatchEntry& entry, const Job& job, const StoreOptions& store);
/// Throws InputError for a job of a batch that asks for a gradient.
void refuse_gradient(const Job& job);

/// Throws InputError for `--stop-after` where there are no checkpoints to count.
void check_stop_after(const SessionOptions& options, const Job& job);

/// A gradient is many jobs in one world. Throws InputError for what goes with one job only.
void check_gradient_options(const Arguments& arguments, const SessionOptions& options, const Job& job);

/// Reads the input of `--qcschema`; `arguments` then states its job. Throws InputError for what does not go with it.
void begin_schema(Arguments& arguments, std::optional<SchemaRun>& schema, const std::string& version, int ranks);

}  // namespace sial
