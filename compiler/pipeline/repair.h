#pragma once
// Making the fixes of a program's diagnostics: in rounds, since one mistake hides others, until none is left that can
// be made without asking. Works on texts; whoever calls it writes the files.

#include <map>
#include <string>
#include <vector>

#include "compiler/pipeline/pipeline.h"

namespace sial {

struct AppliedFix {
  std::string file, title;
  Code code = Code::E_SYNTAX;
  int line = 0;  // in the text at that time
};

struct Repair {
  SourceTexts texts;                  // of the files that were changed, by the names of the compilation
  std::vector<AppliedFix> applied;    // in the order of rounds and places
  std::vector<AppliedFix> elsewhere;  // in files that must not be changed
};

/// Only files in the folder of `path`, and in folders below, are changed: others belong to other programs. A round
/// whose changes leave the program with more errors than it had is taken back, and its fixes are tried one by one.
/// Throws EnvironmentError as compile_file() does.
Repair repair(const std::string& path, const CompileOptions& options, const WarningOptions& warnings);

}  // namespace sial
