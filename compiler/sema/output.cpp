// print and println: of values, and of what a block or array looks like inside.

#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace sial::sema {

void Checker::check_node(const ast::Stmt&, const ast::Print& print) {
  const ast::Expr& e = *print.value;
  const Mask mask = infer(e);
  if (mask == 0) return;
  if (std::holds_alternative<ast::BlockExpr>(e.node)) {
    const BlockInfo& info = block_info(e);
    if (no_sub_block(info, std::get<ast::BlockExpr>(e.node).block)) choose(e, Type::block);
  } else if (mask & may_scalar) {
    choose(e, Type::scalar);
  } else if (std::holds_alternative<ast::NameExpr>(e.node) && (mask & may_index)) {
    choose(e, Type::index);
  } else if (mask & (may_int | may_index)) {
    choose_int(e);
  } else if (mask & may_string) {
    choose(e, Type::string);
  } else if (mask & may_region) {
    choose(e, Type::region);
  } else if (mask & may_array) {
    const auto* name = std::get_if<ast::NameExpr>(&e.node);
    const SymbolId id = name ? program_.names.at(&name->name) : no_symbol;
    if (name && symbol(id).contiguous) {
      choose(e, Type::array);
      return;
    }
    Diagnostic& d = report(Code::E_PRINT, e.span, "only static and contiguous arrays are printed as a whole",
                           "print one of its blocks: `a[i,j]`");
    if (name) note(d, id);
  } else {
    report(Code::E_PRINT, e.span, "a block expression cannot be printed", "assign it to a temp block and print that");
  }
}

void Checker::check_node(const ast::Stmt&, const ast::Inspect& inspect) {
  const std::string& function = inspect.function.name;
  const bool elements = function == "elements";
  if (!elements && function != "norm" && function != "max") {
    const Lookup lookup = table_.find(module_, function);
    if (!lookup.found.empty() && symbol(lookup.found.front()).kind == SymbolKind::array)
      report(Code::E_OLD_DIALECT, inspect.function.span, "indices are written in brackets, not in parentheses",
             fmt::format("write `{}[...]`", inspect.function.text));
    else
      report(Code::E_PRINT_OPERAND, inspect.function.span,
             fmt::format("`{}` is nothing that can be printed of a block", inspect.function.text),
             "known: `norm`, `max` and `elements`; expressions of numbers are printed as they are");
    return;
  }
  check_inspected(inspect.operand, function);
  const std::size_t most = elements ? 2 : 0;
  if (inspect.options.size() > most) {
    report(Code::E_PRINT_OPERAND, inspect.options[most]->span,
           elements ? "`elements` takes a block, the smallest absolute value to show and the largest number of elements"
                    : fmt::format("`{}` takes one block or array", function),
           elements ? "write `elements(t[p,q], 0.001, 20)`"
                    : fmt::format("print each by a statement of its own: `{}(...)`", function));
    return;
  }
  if (!inspect.options.empty()) want_scalar(*inspect.options[0], "the smallest absolute value to show is");
  if (inspect.options.size() > 1) want_int(*inspect.options[1], "the largest number of elements to show is");
}

void Checker::check_inspected(const ast::Arg& operand, const std::string& function) {
  if (const auto* block = std::get_if<ast::Block>(&operand.node)) {
    check_block(*block);
    return;
  }
  if (const auto* region = std::get_if<ast::Region>(&operand.node)) {
    check_region(*region);
    return;
  }
  const auto& name = std::get<ast::Name>(operand.node);
  const SymbolId id = resolve(name, {SymbolKind::array});
  if (id == no_symbol || symbol(id).contiguous) return;
  const Symbol& s = symbol(id);
  std::string hint = "name a block, a region, or a static or contiguous array";
  if (s.kind == SymbolKind::scalar || s.kind == SymbolKind::int_ || s.kind == SymbolKind::index)
    hint = fmt::format("a number is printed as it is: `print {}`", s.text);
  if (s.kind == SymbolKind::array) hint = fmt::format("name one of its blocks: `{}({}[...])`", function, s.text);
  if (s.kind == SymbolKind::array &&
      (s.array_kind == ast::ArrayKind::distributed || s.array_kind == ast::ArrayKind::served) && function == "norm")
    hint = fmt::format(
        "add up its blocks in a pardo, `get {0}[..]` and `part += {0}[..] * {0}[..]`, then `collective total += part` and `print sqrt total`",
        s.text);
  Diagnostic& d = report(
      Code::E_PRINT, operand.span,
      fmt::format("`{}` looks into one worker's block or array, `{}` is {}", function, s.text, describe(s)), hint);
  note(d, id);
}

}  // namespace sial::sema
