#pragma once
// `sialc lsp`: the language server on standard input and output.

#include <string>

#include "compiler/tools/lsp/server.h"

namespace sial {

/// `argv[0]` is `lsp`. The exit code of the program.
int lsp_main(int argc, char** argv, const std::string& version, lsp::Providers providers);

}  // namespace sial
