#include <algorithm>

#include "compiler/diag/table.h"
#include "compiler/sema/blockflow.h"
#include "compiler/sema/calls.h"
#include "compiler/sema/checker.h"
#include "compiler/sema/overwritten.h"
#include "compiler/sema/partial.h"
#include "compiler/sema/patterns.h"
#include "compiler/sema/rank.h"
#include "compiler/sema/super_calls.h"
#include "compiler/sema/unused.h"

namespace sial {

std::unique_ptr<CheckedProgram> check(const ast::Compilation& compilation, const SourceManager& sources,
                                      Emitter& emitter, const CheckOptions& options) {
  auto program = std::make_unique<CheckedProgram>();
  program->compilation = &compilation;
  sema::Checker checker(compilation, sources, emitter, *program);
  checker.run();
  for (const auto& module : compilation.modules)
    if (!module->statements.empty() || &module == &compilation.modules.back()) program->bodies.push_back(module.get());
  sema::check_calls(*program, checker.routines(), emitter);
  // The rest reads the decisions of the checks, which are complete only when nothing was refused. Warnings made errors
  // by -Werror do not count here.
  const bool sound = std::none_of(emitter.all().begin(), emitter.all().end(),
                                  [](const Diagnostic& d) { return row_of(d.code).severity == Severity::error; });
  if (sound) {
    sema::warn_unused(*program, checker.routines(), emitter);
    sema::follow_ranks(*program, emitter);
    sema::warn_partial_values(*program, emitter);
    sema::warn_overwritten(*program, emitter);
    sema::follow_blocks(*program, emitter);
    sema::warn_patterns(*program, options, emitter);
    sema::check_super_calls(*program, emitter);
  }
  if (emitter.has_errors()) return nullptr;
  return program;
}

}  // namespace sial
