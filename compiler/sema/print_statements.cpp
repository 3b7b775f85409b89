#include "compiler/sema/print_statements.h"

#include <fmt/format.h>

namespace sial::sema {

void PrintStatements::check(const ast::Print& print) {
  const ast::Expr& e = *print.value;
  const Mask mask = expressions_.infer(e);
  if (mask == 0) return;
  if (std::holds_alternative<ast::BlockExpr>(e.node)) {
    const BlockInfo& info = references_.block_info(e);
    if (references_.no_sub_block(info, std::get<ast::BlockExpr>(e.node).block)) expressions_.choose(e, Type::block);
  } else if (mask & may_scalar) {
    expressions_.choose(e, Type::scalar);
  } else if (std::holds_alternative<ast::NameExpr>(e.node) && (mask & may_index)) {
    expressions_.choose(e, Type::index);
  } else if (mask & (may_int | may_index)) {
    expressions_.choose_int(e);
  } else if (mask & may_string) {
    expressions_.choose(e, Type::string);
  } else if (mask & may_region) {
    expressions_.choose(e, Type::region);
  } else if (mask & may_array) {
    const auto* name = std::get_if<ast::NameExpr>(&e.node);
    const SymbolId id = name ? context_.program().names.at(&name->name) : no_symbol;
    if (name && context_.symbol(id).contiguous) {
      expressions_.choose(e, Type::array);
      return;
    }
    Diagnostic& d = context_.report(Code::E_PRINT, e.span, "only static and contiguous arrays are printed as a whole",
                                    "print one of its blocks: `a[i,j]`");
    if (name) context_.note(d, id);
  } else {
    context_.report(Code::E_PRINT, e.span, "a block expression cannot be printed",
                    "assign it to a temp block and print that");
  }
}

void PrintStatements::check(const ast::Inspect& inspect) {
  const std::string& function = inspect.function.name;
  const bool elements = function == "elements";
  if (!elements && function != "norm" && function != "max") {
    report_unknown_function(inspect.function);
    return;
  }
  check_inspected(inspect.operand, function);
  const std::size_t most = elements ? 2 : 0;
  if (inspect.options.size() > most) {
    context_.report(
        Code::E_PRINT_OPERAND, inspect.options[most]->span,
        elements ? "`elements` takes a block, the smallest absolute value to show and the largest number of elements"
                 : fmt::format("`{}` takes one block or array", function),
        elements ? "write `elements(t[p,q], 0.001, 20)`"
                 : fmt::format("print each by a statement of its own: `{}(...)`", function));
    return;
  }
  if (!inspect.options.empty()) expressions_.want_scalar(*inspect.options[0], "the smallest absolute value to show is");
  if (inspect.options.size() > 1)
    expressions_.want_int(*inspect.options[1], "the largest number of elements to show is");
}

void PrintStatements::report_unknown_function(const ast::Name& function) {
  const Lookup lookup = context_.table().find(context_.module_number(), function.name);
  if (!lookup.found.empty() && context_.symbol(lookup.found.front()).kind == SymbolKind::array)
    context_.report(Code::E_OLD_DIALECT, function.span, "indices are written in brackets, not in parentheses",
                    fmt::format("write `{}[...]`", function.text));
  else
    context_.report(Code::E_PRINT_OPERAND, function.span,
                    fmt::format("`{}` is nothing that can be printed of a block", function.text),
                    "known: `norm`, `max` and `elements`; expressions of numbers are printed as they are");
}

void PrintStatements::check_inspected(const ast::Arg& operand, const std::string& function) {
  if (const auto* block = std::get_if<ast::Block>(&operand.node)) {
    references_.check_block(*block);
    return;
  }
  if (const auto* region = std::get_if<ast::Region>(&operand.node)) {
    expressions_.check_region(*region);
    return;
  }
  const auto& name = std::get<ast::Name>(operand.node);
  const SymbolId id = context_.resolve(name, {SymbolKind::array});
  if (id == no_symbol || context_.symbol(id).contiguous) return;
  const Symbol& s = context_.symbol(id);
  std::string hint = "name a block, a region, or a static or contiguous array";
  if (s.kind == SymbolKind::scalar || s.kind == SymbolKind::int_ || s.kind == SymbolKind::index)
    hint = fmt::format("a number is printed as it is: `print {}`", s.text);
  if (s.kind == SymbolKind::array) hint = fmt::format("name one of its blocks: `{}({}[...])`", function, s.text);
  if (s.kind == SymbolKind::array &&
      (s.array_kind == ast::ArrayKind::distributed || s.array_kind == ast::ArrayKind::served) && function == "norm")
    hint = fmt::format(
        "add up its blocks in a pardo, `get {0}[..]` and `part += {0}[..] * {0}[..]`, then `collective total += part` and `print sqrt total`",
        s.text);
  Diagnostic& d = context_.report(
      Code::E_PRINT, operand.span,
      fmt::format("`{}` looks into one worker's block or array, `{}` is {}", function, s.text, describe(s)), hint);
  context_.note(d, id);
}

}  // namespace sial::sema
