#pragma once
// Parses program text for tests.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ast/build.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/diag/render.h"
#include "compiler/diag/table.h"

namespace sial::test {

struct Parsed {
  SourceManager sources;
  Emitter emitter;
  std::unique_ptr<ast::Module> module;  // null when there are errors

  explicit Parsed(const std::string& text) {
    ast::NodeId next_id = 1;
    module = parse_module(sources, sources.add("p.sialx", "/p.sialx", text), emitter, next_id);
  }

  /// Codes of the errors with their lines, in source order: {"E-LINE", 3}.
  std::vector<std::pair<std::string, int>> errors() const {
    std::vector<std::pair<std::string, int>> out;
    for (const Diagnostic& d : in_source_order(emitter.all()))
      out.emplace_back(row_of(d.code).name, sources.position(d.span.file, d.span.begin).line);
    return out;
  }
  std::string text() const {
    std::string out;
    for (const Diagnostic& d : emitter.all()) out += render_text(d, sources);
    return out;
  }
};

using Errors = std::vector<std::pair<std::string, int>>;

/// A program with declarations on lines 2 to 15, the body from line 16 on.
inline std::string program(const std::string& body) {
  return "sial p\npredefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\nindex k = 1:5\nsubindex ii of i\ntemp a[i,j]\nlocal lo[i,j]\n"
         "contiguous local cl[i,j]\ndistributed g[i,j]\nserved h[i,j]\nscalar x\nscalar y\nint n\nspecial f1 r\n" +
         body + "endsial p\n";
}
inline constexpr int body_line = 16;

}  // namespace sial::test
