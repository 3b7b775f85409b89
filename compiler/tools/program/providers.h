#pragma once
// Features of the language server beside names and diagnostics: fixes as code actions, the one style, and facts of
// lines from the program's job and its last run. Belongs to command lines, as hints.h does.

#include "compiler/tools/lsp/server.h"

namespace sial {

lsp::Providers language_providers();

}  // namespace sial
