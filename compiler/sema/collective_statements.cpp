#include "compiler/sema/collective_statements.h"

#include <fmt/format.h>

#include "compiler/sema/fixes.h"

namespace sial::sema {

void CollectiveStatements::check(const ast::Stmt& stmt, const ast::Collective& collective) {
  walk_.collective_use(stmt, CollectiveKind::collective);
  if (collective.op != ast::AssignOp::add) {
    Diagnostic& d = context_.report(Code::E_COLLECTIVE, collective.op_span,
                                    fmt::format("`collective` has no `{}`, only `+=`", op_word(collective.op)),
                                    "set the scalar to 0.0 before, then `collective x += expression`");
    if (collective.op == ast::AssignOp::set)
      d.fix({fmt::format("set `{}` to 0.0 and add", collective.target.text),
             {{Edit::What::line_above, stmt.span, collective.target.text + " = 0.0"},
              {Edit::What::replace, collective.op_span, "+="}}});
    expressions_.infer(*collective.value);
    return;
  }
  const SymbolId id = context_.resolve(collective.target, {SymbolKind::scalar});
  if (id != no_symbol && context_.symbol(id).kind != SymbolKind::scalar) {
    Diagnostic& d = context_.report(
        Code::E_COLLECTIVE, collective.target.span,
        fmt::format("`collective` sums into a scalar, `{}` is {}", collective.target.text,
                    describe(context_.symbol(id))),
        context_.symbol(id).kind == SymbolKind::int_ ? "sum into a scalar and convert with `(int)`" : "");
    context_.note(d, id);
    return;
  }
  expressions_.want_scalar(*collective.value, "`collective` sums");
}

void CollectiveStatements::check(const ast::Stmt& stmt, const ast::AssertSame& same) {
  walk_.collective_use(stmt, CollectiveKind::assert_same);
  const SymbolId id = context_.resolve(same.scalar, {SymbolKind::scalar});
  if (id == no_symbol || context_.symbol(id).kind == SymbolKind::scalar) return;
  Diagnostic& d = context_.report(
      Code::E_ASSERT_SAME, same.scalar.span,
      fmt::format("`assert_same` compares a scalar, `{}` is {}", same.scalar.text, describe(context_.symbol(id))));
  context_.note(d, id);
}

void CollectiveStatements::check(const ast::Stmt& stmt, const ast::Broadcast& broadcast) {
  walk_.collective_use(stmt, CollectiveKind::broadcast);
  const Mask mask = expressions_.infer(*broadcast.source);
  if (mask & (may_int | may_index)) {
    expressions_.choose_int(*broadcast.source);
  } else if (mask != 0) {
    context_.report(
        Code::E_BROADCAST, broadcast.source->span,
        fmt::format("the sending worker is given by an int, not {}", expressions_.type_words(*broadcast.source, mask)),
        (mask & may_scalar) ? "convert it: `(int)` in parentheses" : "");
  }
  const SymbolId id = context_.resolve_array(broadcast.array, "`broadcast_from` sends");
  if (id == no_symbol || context_.symbol(id).array_kind == ast::ArrayKind::static_) return;
  Diagnostic& d = context_.report(Code::E_ARRAY_KIND, broadcast.array.span,
                                  fmt::format("`broadcast_from` sends a static array, `{}` is {}", broadcast.array.text,
                                              describe(context_.symbol(id))));
  context_.note(d, id);
}

void CollectiveStatements::check(const ast::Stmt& stmt, const ast::Persistent& persistent) {
  walk_.collective_use(stmt, CollectiveKind::persistent);
  const SymbolId id = context_.resolve(persistent.item, {SymbolKind::scalar, SymbolKind::array});
  if (id == no_symbol) return;
  const Symbol& s = context_.symbol(id);
  const bool array = s.kind == SymbolKind::array && (s.remote() || s.array_kind == ast::ArrayKind::static_);
  if ((s.kind == SymbolKind::scalar || array) && !s.predefined) return;
  const char* word = persistent.restore ? "restore_persistent" : "set_persistent";
  Diagnostic& d = context_.report(
      Code::E_PERSIST, persistent.item.span,
      s.predefined ? fmt::format("`{}` is predefined: its value comes from the job's data", s.text)
                   : fmt::format("`{}` takes a scalar or a static, distributed or served array, `{}` is {}", word,
                                 s.text, describe(s)),
      s.kind == SymbolKind::int_ && !s.predefined ? "keep the value in a scalar" : "");
  context_.note(d, id);
}

}  // namespace sial::sema
