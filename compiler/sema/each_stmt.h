#pragma once
// All statements of a body, for checks to which their order of execution does not matter (flow.h follows that).

#include "compiler/ast/ast.h"

namespace sial::sema {

/// Calls f(stmt) for every statement of a body, outer ones first.
template <class F>
void for_each_stmt(const ast::Body& body, F&& f) {
  for (const ast::StmtPtr& stmt : body) {
    f(*stmt);
    if (const auto* loop = std::get_if<ast::DoLoop>(&stmt->node)) for_each_stmt(loop->body, f);
    else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt->node)) for_each_stmt(sub->body, f);
    else if (const auto* pardo = std::get_if<ast::PardoLoop>(&stmt->node)) for_each_stmt(pardo->body, f);
    else if (const auto* section = std::get_if<ast::Section>(&stmt->node)) for_each_stmt(section->body, f);
    else if (const auto* gpu = std::get_if<ast::GpuSection>(&stmt->node)) for_each_stmt(gpu->body, f);
    else if (const auto* branch = std::get_if<ast::If>(&stmt->node)) {
      for_each_stmt(branch->then_body, f);
      for_each_stmt(branch->else_body, f);
    }
  }
}

}  // namespace sial::sema
