#pragma once
// Compiles small programs for tests: files are written to a directory of their own, loaded with their imports and
// checked.

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ast/imports.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/diag/table.h"
#include "compiler/sema/checked.h"

namespace sial::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sialx-sema-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

/// A checked program with everything that must outlive it.
struct Checked {
  SourceManager sources;
  Emitter emitter;
  std::unique_ptr<ast::Compilation> compilation;
  std::unique_ptr<CheckedProgram> program;  // null when there were errors

  explicit Checked(const std::string& main_file, WarningOptions warnings = {}, const CheckOptions& options = {})
      : emitter(std::move(warnings)) {
    compilation = load_compilation(sources, main_file, {}, emitter);
    if (compilation) program = check(*compilation, sources, emitter, options);
  }

  std::vector<std::string> codes(Severity severity) const {
    std::vector<std::string> result;
    for (const Diagnostic& d : emitter.all())
      if (d.severity == severity) result.emplace_back(row_of(d.code).name);
    return result;
  }
};

}  // namespace sial::test
