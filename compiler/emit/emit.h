#pragma once
// IR and plan to module: linear code, pooled literals and references, the source map. Decides nothing; the result of a
// verified IR always passes verify_module().

#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/plan/plan.h"
#include "runtime/core/bytecode/module.h"

namespace sial {

struct EmitInfo {
  std::string producer;     // compiler name and version
  std::string source_hash;  // SHA-256 in hexadecimal
  int optimisation = 0;
  std::vector<std::string> kept{};  // arrays that the job saves at the end
};

Module emit(const ir::Program& program, const plan::Plan& plan, const EmitInfo& info);

}  // namespace sial
