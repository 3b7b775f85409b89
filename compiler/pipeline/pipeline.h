#pragma once
// The compiler as one function: from a source file to a verified module, or to diagnostics. Used by sialc and by
// sialrun, which compiles programs on the fly. Holds no state; results own what they return.

#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/bound.h"
#include "compiler/ast/imports.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/sema/checked.h"
#include "compiler/source/buffer.h"
#include "runtime/core/bytecode/module.h"

namespace sial {

inline constexpr int default_optimisation = 2;

struct CompileOptions {
  std::vector<std::string> include_dirs;
  const SourceTexts* texts = nullptr;    // by name: compile these and no files; null: the files
  const SourceTexts* buffers = nullptr;  // by physical path: instead of these files
  CheckOptions check;
  int optimisation = default_optimisation;
  std::vector<std::string> saved;  // distributed and served arrays that the job keeps: `set_persistent` by their names
  std::string dump_after;          // pass whose result is wanted as text; one of pass_names()
  std::string last_pass;           // stop after this pass; empty: run all
  std::string
      facts;  // what the analyses know of the program as written, instead of a module: one of analysis::fact_kinds
  std::optional<analysis::Job> job;  // whose numbers are wanted with them
  bool keep_ir = false;              // the program as written is wanted beside the module
};

struct PassTime {
  std::string_view pass;
  double seconds = 0.0;
};

struct CompileResult {
  std::optional<Module> module;  // absent when there were errors, or when the pipeline stopped earlier
  std::optional<ir::Program> unoptimized;
  std::string dump;             // text asked for with dump_after or facts
  std::vector<PassTime> times;  // passes in the order they ran
};

/// Names of all passes, in order. Passes above the optimisation level do not run.
std::vector<std::string_view> pass_names();

/// Diagnostics go to `emitter`; there is a module exactly when all passes ran and none reported an error. Throws
/// EnvironmentError when the file system fails in another way than a missing source file.
CompileResult compile_file(const std::string& path, const CompileOptions& options, SourceManager& sources,
                           Emitter& emitter);

/// Name and version of this compiler, as recorded in modules.
std::string compiler_name();

}  // namespace sial
