#include "compiler/sema/array_statements.h"

#include <fmt/format.h>

#include "compiler/sema/fixes.h"

namespace sial::sema {

void ArrayStatements::check(const ast::Stmt& stmt, const ast::Allocate& allocate) {
  const char* word = allocate.deallocate ? "deallocate" : "allocate";
  const SymbolId id = context_.resolve_array(
      allocate.array, allocate.deallocate ? "`deallocate` frees blocks of" : "`allocate` makes blocks of");
  if (id == no_symbol) return;
  const Symbol& array = context_.symbol(id);
  if (array.array_kind != ast::ArrayKind::local) {
    Diagnostic& d =
        context_.report(Code::E_ARRAY_KIND, allocate.array.span,
                        fmt::format("`{}` is for local arrays, `{}` is {}", word, array.text, describe(array)),
                        array.array_kind == ast::ArrayKind::temp ? "temps come and go by themselves" : "");
    if (array.array_kind == ast::ArrayKind::temp)
      d.fix(remove_lines(fmt::format("remove the `{}`", word), {stmt.span}));
    context_.note(d, id);
    return;
  }
  if (array.contiguous) {
    Diagnostic& d = context_.report(Code::E_REGION_NEEDED, allocate.array.span,
                                    fmt::format("`{}` is contiguous: it is allocated in regions", array.text),
                                    fmt::format("write `{} contiguous {}[lo:hi, ..]`", word, array.text));
    context_.note(d, id);
    return;
  }
  if (allocate.selector) check_selector(allocate, id);
}

void ArrayStatements::check_selector(const ast::Allocate& allocate, SymbolId id) {
  const Symbol& array = context_.symbol(id);
  if (allocate.selector->size() != array.dims.size()) {
    Diagnostic& d = context_.report(
        Code::E_RANK, allocate.array.span,
        fmt::format(
            "`{}` has {} dimension{}, {} given", array.text, array.dims.size(), array.dims.size() == 1 ? "" : "s",
            allocate.selector->size() == 1 ? "1 entry is" : fmt::format("{} entries are", allocate.selector->size())),
        "one index or `*` per dimension");
    context_.note(d, id);
    return;
  }
  for (std::size_t i = 0; i < allocate.selector->size(); ++i) {
    const ast::WildcardIndex& entry = (*allocate.selector)[i];
    if (!entry.index) continue;
    BlockInfo info;
    const SymbolId label = references_.check_label(*entry.index, false, entry.span, id, i, info);
    if (label == no_symbol || !info.sub_block) continue;
    Diagnostic& d =
        context_.report(Code::E_SLICE, entry.span,
                        fmt::format("`{}` names a part of a block; blocks are allocated whole", entry.index->text),
                        fmt::format("use `{}`", context_.symbol(context_.symbol(label).parent).text));
    d.fix(replace(entry.span, context_.symbol(context_.symbol(label).parent).text));
    context_.note(d, id);
  }
}

void ArrayStatements::check(const ast::Stmt& stmt, const ast::Create& create) {
  walk_.collective_use(stmt, CollectiveKind::create);
  const SymbolId id = context_.resolve_array(create.array, "`create` needs");
  if (id == no_symbol || context_.symbol(id).array_kind == ast::ArrayKind::distributed) return;
  Diagnostic& d = context_.report(
      Code::E_ARRAY_KIND, create.array.span,
      fmt::format("`create` is for distributed arrays, `{}` is {}", create.array.text, describe(context_.symbol(id))),
      context_.symbol(id).array_kind == ast::ArrayKind::served  ? "served arrays need no create"
      : context_.symbol(id).array_kind == ast::ArrayKind::local ? "use `allocate`"
                                                                : "");
  if (context_.symbol(id).array_kind == ast::ArrayKind::served) d.fix(remove_lines("remove the `create`", {stmt.span}));
  context_.note(d, id);
}

void ArrayStatements::check(const ast::Stmt& stmt, const ast::Delete& erase) {
  walk_.collective_use(stmt, CollectiveKind::erase);
  const char* word = erase.destroy ? "destroy" : "delete";
  const SymbolId id = context_.resolve_array(erase.array, erase.destroy ? "`destroy` needs" : "`delete` needs");
  if (id == no_symbol) return;
  const Symbol& array = context_.symbol(id);
  if (array.array_kind == (erase.destroy ? ast::ArrayKind::served : ast::ArrayKind::distributed)) return;
  Diagnostic& d = context_.report(Code::E_ARRAY_KIND, erase.array.span,
                                  fmt::format("`{}` is for {} arrays, `{}` is {}", word,
                                              erase.destroy ? "served" : "distributed", array.text, describe(array)),
                                  array.remote() ? fmt::format("use `{}`", erase.destroy ? "delete" : "destroy")
                                  : array.array_kind == ast::ArrayKind::local ? "use `deallocate`"
                                                                              : "");
  if (array.remote()) d.fix(other_keyword(stmt.span, word, erase.destroy ? "delete" : "destroy"));
  context_.note(d, id);
}

void ArrayStatements::check(const ast::Stmt& stmt, const ast::Get& get) {
  const char* word = get.request ? "request" : "get";
  const BlockInfo info = references_.check_block(get.block);
  if (!info.ok) return;
  const Symbol& array = context_.symbol(info.array);
  if (array.array_kind == (get.request ? ast::ArrayKind::served : ast::ArrayKind::distributed)) return;
  Diagnostic& d = context_.report(
      Code::E_ARRAY_KIND, get.block.array.span,
      fmt::format("`{}` is for {} arrays, `{}` is {}", word, get.request ? "served" : "distributed", array.text,
                  describe(array)),
      array.remote() ? fmt::format("use `{}`", get.request ? "get" : "request") : "its blocks need no fetching");
  d.fix(array.remote() ? other_keyword(stmt.span, word, get.request ? "get" : "request")
                       : remove_lines(fmt::format("remove the `{}`", word), {stmt.span}));
  context_.note(d, info.array);
}

}  // namespace sial::sema
