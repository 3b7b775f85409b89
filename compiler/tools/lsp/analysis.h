#pragma once
// The diagnostics of an open program: exactly those of `sialc` on the same texts. What a program's diagnostics depend
// on is kept with them, so that a change elsewhere makes them again.

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/buffer.h"
#include "compiler/tools/lsp/text.h"
#include "compiler/tools/lsp/workspace.h"

namespace sial::lsp {

struct Analysis {
  SourceManager sources;                         // file 0: the program itself
  std::vector<Diagnostic> diagnostics;           // in the order of their places, each once
  std::set<std::string> files;                   // physical paths of everything read
  std::map<std::string, std::string> open_uris;  // of those of them that are open, as the editor spells them
  bool import_failed = false;                    // any new file may be what it looks for
};
using AnalysisPtr = std::shared_ptr<const Analysis>;

/// `name`: the program's file as the editor calls it; it need not exist when there is a buffer for it.
AnalysisPtr analyse(const std::string& name, Workspace& files, const WarningOptions& warnings);

/// The form in which an editor wants diagnostics.
struct DiagnosticStyle {
  Encoding encoding = Encoding::utf16;
  bool related = true;  // notes as related information; else as lines of the message
  bool tags = true;     // unused declarations are greyed
  std::string pages;    // folder for the pages of `--explain`; empty: no links to them
};

/// The diagnostics that stand in one of the files, as objects of the protocol; without a place: in the program itself.
nlohmann::json diagnostics_json(const Analysis& analysis, FileId file, const DiagnosticStyle& style);
nlohmann::json range_json(const SourceManager& sources, Span span, Encoding encoding);

}  // namespace sial::lsp
