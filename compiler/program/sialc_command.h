#pragma once
// The command line of sialc. Two programs have it: sialc-tools with the tools (formatter, language server, hints), and
// sialc without, which starts sialc-tools where a command needs them.

#include <optional>
#include <string>

#include "compiler/analysis/bound.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/pipeline/pipeline.h"

namespace sial {

/// `--emit=hints|hover`.
struct HintQuestion {
  std::string path;  // of the program
  CompileOptions options;
  std::string job_file, run_file;        // empty: searched beside the program
  std::optional<analysis::Job> numbers;  // instead of a job file
  bool long_texts = false;
};

struct Tools {
  // Exit codes; argv[0] is the word `format` or `lsp`.
  int (*format)(int argc, char** argv);
  int (*lsp)(int argc, char** argv);
  /// Nothing when the program has errors, which the emitter has then.
  std::optional<std::string> (*hints)(const HintQuestion& question, SourceManager& sources, Emitter& emitter);
};

/// All of main(). `tools` may be null: then sialc-tools, in the folder of the running program, is started for them.
int sialc_main(int argc, char** argv, const Tools* tools);

}  // namespace sial
