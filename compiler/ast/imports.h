#pragma once
// From the main file to the whole compilation: finds imported files, parses each physical file once, refuses cycles.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/ast/line_trees.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/source/buffer.h"

namespace sial {

/// Texts of files, to be compiled instead of what lies on the disk.
using SourceTexts = std::map<std::string, std::string>;

/// Reads `main_path` and everything it imports. A path in an import is tried as it stands (relative to the working
/// directory), then in the importing file's directory, in `include_dirs` in order, and in those of SIALPATH. Null when
/// the main file could not be read or any file has errors; all of them are reported, each file's own errors once.
std::unique_ptr<ast::Compilation> load_compilation(SourceManager& sources, const std::string& main_path,
                                                   const std::vector<std::string>& include_dirs, Emitter& emitter);

/// The inputs of a compilation besides files.
struct LoadOptions {
  std::vector<std::string> include_dirs;
  // By the names of a compilation: there are no other files than these, and an import that no path leads to is the one
  // that ends in its name.
  const SourceTexts* texts = nullptr;
  const SourceTexts* buffers = nullptr;  // by physical path: read instead of the files, which may not even exist
  LineTrees* known = nullptr;            // as for parse_module
};
std::unique_ptr<ast::Compilation> load_program(SourceManager& sources, const std::string& main_path,
                                               const LoadOptions& options, Emitter& emitter);

/// The file that a path means, with links resolved.
std::string physical_path(const std::string& path);
/// The folders, in order, in which a file that is no path from the working directory is looked for; `.` is that one.
std::vector<std::string> import_folders(const std::string& path, const std::string& importer,
                                        const std::vector<std::string>& include_dirs);

/// The file's text; nullopt with a message in `error` when it cannot be read.
std::optional<std::string> read_source_file(const std::string& path, std::string& error);

}  // namespace sial
