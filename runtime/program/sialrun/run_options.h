#pragma once
// The options of a run's ranks: what the command line says of them, and then what the job states.

#include <string>

#include "runtime/program/session/options.h"
#include "runtime/program/sialrun/arguments.h"

namespace sial {

inline constexpr const char* sialx_version = SIALX_VERSION;

/// What the command line says, whatever the job. Throws InputError for what does not go together.
SessionOptions options_of_run(const Arguments& arguments);
/// With the memory of blocks, and where arrays live, as the job states them.
void take_memory(Arguments& arguments, SessionOptions& options, const Job& job);
/// What run.json records of how the job was run: options as the table says, and what became of some of them.
RunFacts::Pairs chosen_options(const CommandLine& app, const Arguments& arguments, bool mpi, const std::string& blas);

}  // namespace sial
