#pragma once
// `sialc format`: the command line of the formatter (compiler/tools/format).

namespace sial {

/// `argv[0]` is the word `format`. Returns the exit code: 0 fine, 1 syntax errors, or with --check a file that would
/// change, 2 wrong usage or unreadable files. Throws EnvironmentError where a file cannot be written.
int run_format(int argc, char** argv);

}  // namespace sial
