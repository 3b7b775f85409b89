#pragma once
// Compiles program text as far as a test needs it.

#include <catch2/catch.hpp>

#include <string>

#include "compiler/ast/build.h"
#include "compiler/diag/render.h"
#include "compiler/ir/build.h"
#include "compiler/ir/verify.h"
#include "compiler/sema/checked.h"

namespace sial::test {

inline ir::Program lower(const std::string& text) {
  SourceManager sources;
  Emitter emitter(WarningOptions{false, {}, {}, {}, true});
  const FileId file = sources.add("test.sialx", "test.sialx", text);
  ast::NodeId next_id = 0;
  ast::Compilation compilation;
  compilation.modules.push_back(parse_module(sources, file, emitter, next_id));
  for (const Diagnostic& d : emitter.all()) UNSCOPED_INFO(render_text(d, sources));
  REQUIRE(compilation.modules[0] != nullptr);
  const auto checked = check(compilation, sources, emitter);
  for (const Diagnostic& d : emitter.all()) UNSCOPED_INFO(render_text(d, sources));
  REQUIRE(checked != nullptr);
  ir::Program program = ir::build(*checked, sources);
  ir::verify(program, "ir");
  return program;
}

/// `declarations` and `statements` as a program called p.
inline ir::Program lower(const std::string& declarations, const std::string& statements) {
  return lower("sial p\n" + declarations + "\n" + statements + "\nendsial p\n");
}

}  // namespace sial::test
