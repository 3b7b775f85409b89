#include "compiler/sema/execute_statements.h"

#include <fmt/format.h>

#include "compiler/sema/fixes.h"

namespace sial::sema {

void ExecuteStatements::check(const ast::Stmt& stmt, const ast::Execute& execute) {
  const SymbolId id = context_.resolve(execute.special, {SymbolKind::special});
  if (id == no_symbol || context_.symbol(id).kind != SymbolKind::special) {
    for (const ast::Arg& arg : execute.args) check_argument(arg, nullptr);
    if (id == no_symbol) return;
    Diagnostic& d = context_.report(
        Code::E_EXECUTE, execute.special.span,
        fmt::format("`{}` is {}, not a special", execute.special.text, describe(context_.symbol(id))),
        context_.symbol(id).kind == SymbolKind::proc ? fmt::format("use `call {}`", execute.special.text) : "");
    if (context_.symbol(id).kind == SymbolKind::proc && execute.args.empty())
      d.fix(other_keyword(stmt.span, "execute", "call"));
    context_.note(d, id);
    return;
  }
  const Symbol& special = context_.symbol(id);
  for (const ast::Arg& arg : execute.args) check_argument(arg, &special);
  if (execute.args.size() == special.signature.size()) return;
  Diagnostic& d = context_.report(Code::E_ARITY, execute.special.span,
                                  fmt::format("`{}` takes {} argument{}, {} {} given", special.text,
                                              special.signature.size(), special.signature.size() == 1 ? "" : "s",
                                              execute.args.size(), execute.args.size() == 1 ? "is" : "are"),
                                  special.signature.empty() ? "its declaration has no signature"
                                                            : fmt::format("its signature is `{}`", special.signature));
  context_.note(d, id);
}

void ExecuteStatements::check(const ast::GpuOp& op) {
  check_argument(op.arg, nullptr);
  if (std::holds_alternative<ast::Region>(op.arg.node) || std::holds_alternative<ast::RealLit>(op.arg.node))
    context_.report(Code::E_ARG, op.arg.span, "only a block, a scalar or a whole array can be kept on a device");
}

void ExecuteStatements::check_argument(const ast::Arg& arg, const Symbol* special) {
  const std::string what = special ? fmt::format("an argument of `{}`", special->text) : "the operand";
  if (const auto* block = std::get_if<ast::Block>(&arg.node)) {
    references_.check_block(*block);
    return;
  }
  if (const auto* region = std::get_if<ast::Region>(&arg.node)) {
    expressions_.check_region(*region);
    return;
  }
  if (const auto* literal = std::get_if<ast::IntLit>(&arg.node)) {
    context_
        .report(Code::E_ARG, arg.span, fmt::format("{} cannot be an int literal", what),
                fmt::format("write {}.0", literal->value))
        .fix(replace(arg.span, fmt::format("{}.0", literal->value)));
    return;
  }
  const auto* name = std::get_if<ast::Name>(&arg.node);
  if (name) check_named(arg, *name, special, what);
}

void ExecuteStatements::check_named(const ast::Arg& arg, const ast::Name& name, const Symbol* special,
                                    const std::string& what) {
  const SymbolId id = context_.resolve(name, {SymbolKind::scalar, SymbolKind::array});
  if (id == no_symbol) return;
  const Symbol& s = context_.symbol(id);
  if (s.kind == SymbolKind::scalar) return;
  if (s.kind == SymbolKind::array) {
    const bool whole = special && (special->name == "blocks_to_list" || special->name == "list_to_blocks" ||
                                   special->name == "array_copy");
    if (s.contiguous || whole) return;
    Diagnostic& d = context_.report(Code::E_ARG, arg.span,
                                    fmt::format("`{}` is {} and cannot be passed as a whole", s.text, describe(s)),
                                    "pass one of its blocks; only static and contiguous arrays are passed whole");
    context_.note(d, id);
    return;
  }
  Diagnostic& d =
      context_.report(Code::E_ARG, arg.span,
                      fmt::format("`{}` is {}; {} is a block, a region, a scalar, an array or a real literal", s.text,
                                  describe(s), what),
                      s.kind == SymbolKind::int_ || s.kind == SymbolKind::index
                          ? fmt::format("assign `(scalar){}` to a scalar and pass that", s.text)
                          : "");
  context_.note(d, id);
}

}  // namespace sial::sema
