#include "compiler/sema/loops.h"

#include <fmt/format.h>

#include "compiler/sema/fixes.h"

#include "runtime/core/base/shape.h"

namespace sial::sema {

void LoopHeads::open(const ast::DoLoop& loop) {
  const SymbolId index = loop_index(loop.index, "do");
  walk_.open_loop(nullptr);
  if (index != no_symbol) enter_loop(loop.index, index);
  check_wheres(loop.wheres);
}

void LoopHeads::open(const ast::SubLoop& loop) {
  const SymbolId index = context_.resolve(loop.index, {SymbolKind::subindex});
  const SymbolId parent = context_.resolve(loop.parent, {SymbolKind::index});
  walk_.open_loop(nullptr);
  if (index != no_symbol && context_.symbol(index).kind != SymbolKind::subindex) {
    Diagnostic& d = context_.report(
        Code::E_LOOP_VAR, loop.index.span,
        fmt::format("`do .. in` runs over a subindex, `{}` is {}", loop.index.text, describe(context_.symbol(index))),
        context_.symbol(index).kind == SymbolKind::index ? fmt::format("write `do {}`", loop.index.text) : "");
    if (context_.symbol(index).kind == SymbolKind::index) {
      const auto names = [](const ast::Name& name, const ast::Name& parent) { return cover(name.span, parent.span); };
      d.fix({fmt::format("write `do {}`", loop.index.text),
             {{Edit::What::replace, names(loop.index, loop.parent), loop.index.text},
              {Edit::What::replace, names(loop.end_index, loop.end_parent), loop.index.text}}});
    }
    context_.note(d, index);
  } else if (index != no_symbol && parent != no_symbol && context_.symbol(index).parent != parent) {
    const std::string& declared = context_.symbol(context_.symbol(index).parent).text;
    Diagnostic& d = context_.report(
        Code::E_SUBINDEX_PARENT, loop.parent.span,
        fmt::format("`{}` is a subindex of `{}`, not of `{}`", loop.index.text, declared, loop.parent.text),
        fmt::format("write `do {} in {}`", loop.index.text, declared));
    d.fix({fmt::format("write `do {} in {}`", loop.index.text, declared),
           {{Edit::What::replace, loop.parent.span, declared}, {Edit::What::replace, loop.end_parent.span, declared}}});
    context_.note(d, index);
    enter_loop(loop.index, index);
  } else if (index != no_symbol) {
    if (parent != no_symbol) walk_.use_index(loop.parent, parent);
    enter_loop(loop.index, index);
  }
  check_wheres(loop.wheres);
}

void LoopHeads::open(const ast::Stmt& stmt, const ast::PardoLoop& loop) {
  if (loop.indices.size() > max_rank)
    context_.report(Code::E_RANK, loop.indices[max_rank].span,
                    fmt::format("a pardo has at most {} indices, this one has {}", max_rank, loop.indices.size()));
  walk_.collective_use(stmt, CollectiveKind::pardo);
  walk_.open_loop(&stmt);
  const std::vector<SymbolId> indices = pardo_indices(loop);
  check_wheres(loop.wheres);
  PardoInfo info;
  info.wheres = pragmas_.effective_wheres(loop, indices);
  context_.program().pardos[&stmt] = std::move(info);
}

// Header and end without an index that is not the first.
static Fix without_index(const ast::PardoLoop& loop, std::size_t i) {
  const auto after = [i](const std::vector<ast::Name>& names) {
    return Span{names[i].span.file, names[i - 1].span.end, names[i].span.end};
  };
  return {fmt::format("remove the second `{}`", loop.indices[i].text),
          {{Edit::What::replace, after(loop.indices)}, {Edit::What::replace, after(loop.end_indices)}}};
}

// Every index once; no_symbol where it was refused.
std::vector<SymbolId> LoopHeads::pardo_indices(const ast::PardoLoop& loop) {
  std::vector<SymbolId> indices;
  for (std::size_t i = 0; i < loop.indices.size(); ++i) {
    const SymbolId id = loop_index(loop.indices[i], "pardo");
    bool repeated = false;
    for (std::size_t j = 0; j < i; ++j) repeated = repeated || loop.indices[j].name == loop.indices[i].name;
    if (repeated) {
      context_
          .report(Code::E_PARDO_DUP, loop.indices[i].span,
                  fmt::format("`{}` is named twice in this pardo", loop.indices[i].text),
                  "the indices of a pardo differ from each other")
          .fix(without_index(loop, i));
      continue;
    }
    indices.push_back(id);
    if (id != no_symbol) enter_loop(loop.indices[i], id);
  }
  return indices;
}

SymbolId LoopHeads::loop_index(const ast::Name& name, const char* keyword) {
  const SymbolId id = context_.resolve(name, {SymbolKind::index});
  if (id == no_symbol || context_.symbol(id).kind == SymbolKind::index) return id;
  std::string hint;
  if (context_.symbol(id).kind == SymbolKind::subindex)
    hint =
        fmt::format("write `do {} in {}` inside a loop over `{}`", name.text,
                    context_.symbol(context_.symbol(id).parent).text, context_.symbol(context_.symbol(id).parent).text);
  else if (context_.symbol(id).kind == SymbolKind::int_)
    hint = "declare an index with the range wanted: `index k = 1:n`, n a predefined int";
  Diagnostic& d = context_.report(
      Code::E_LOOP_VAR, name.span,
      fmt::format("`{}` runs over an index, `{}` is {}", keyword, name.text, describe(context_.symbol(id))), hint);
  context_.note(d, id);
  return no_symbol;
}

void LoopHeads::enter_loop(const ast::Name& name, SymbolId index) {
  if (const Span* outer = walk_.binding(index)) {
    Diagnostic& d = context_.report(Code::E_INDEX_BUSY, name.span,
                                    fmt::format("the loop over `{}` is inside another loop over it", name.text),
                                    "declare a second index with the same range");
    d.notes.push_back({*outer, fmt::format("the outer loop over `{}` begins here", name.text)});
  }
  walk_.bind(index, name.span);
}

void LoopHeads::check_wheres(const std::vector<ast::Relation>& wheres) {
  for (const ast::Relation& where : wheres) check_where(where);
}

bool LoopHeads::is_index_side(const ast::Expr& e) const {
  const ast::Expr* inner = &e;
  if (const auto* cast = std::get_if<ast::Cast>(&e.node); cast && cast->type == ast::CastType::index)
    inner = cast->operand.get();
  const auto* name = std::get_if<ast::NameExpr>(&inner->node);
  if (!name) return false;
  const auto id = context_.program().names.find(&name->name);
  return id != context_.program().names.end() && context_.symbol(id->second).kind == SymbolKind::index;
}

void LoopHeads::check_where(const ast::Relation& relation) {
  if (expressions_.infer(*relation.left) == 0 || expressions_.infer(*relation.right) == 0) return;
  if (!is_index_side(*relation.left) && !is_index_side(*relation.right)) {
    context_.report(Code::E_WHERE, relation.span, "one side of a `where` is an index by itself",
                    "use `if` inside the loop for other conditions");
    return;
  }
  expressions_.check_relation(relation);
}

}  // namespace sial::sema
