#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace sial::sema {

SymbolId Checker::loop_index(const ast::Name& name, const char* keyword) {
  const SymbolId id = resolve(name, {SymbolKind::index});
  if (id == no_symbol || symbol(id).kind == SymbolKind::index) return id;
  std::string hint;
  if (symbol(id).kind == SymbolKind::subindex)
    hint = fmt::format("write `do {} in {}` inside a loop over `{}`", name.text, symbol(symbol(id).parent).text,
                       symbol(symbol(id).parent).text);
  else if (symbol(id).kind == SymbolKind::int_)
    hint = "declare an index with the range wanted: `index k = 1:n`, n a predefined int";
  Diagnostic& d =
      report(Code::E_LOOP_VAR, name.span,
             fmt::format("`{}` runs over an index, `{}` is {}", keyword, name.text, describe(symbol(id))), hint);
  note(d, id);
  return no_symbol;
}

void Checker::enter_loop(const ast::Name& name, SymbolId index) {
  for (const auto& [open, span] : bound_) {
    if (open != index) continue;
    Diagnostic& d = report(Code::E_INDEX_BUSY, name.span,
                           fmt::format("the loop over `{}` is inside another loop over it", name.text),
                           "declare a second index with the same range");
    d.notes.push_back({span, fmt::format("the outer loop over `{}` begins here", name.text)});
    break;
  }
  routine_->bindings.push_back({index, name.span});
  bound_.emplace_back(index, name.span);
}

void Checker::check_where(const ast::Relation& relation) {
  const auto index_side = [&](const ast::Expr& e) {
    const ast::Expr* inner = &e;
    if (const auto* cast = std::get_if<ast::Cast>(&e.node); cast && cast->type == ast::CastType::index)
      inner = cast->operand.get();
    const auto* name = std::get_if<ast::NameExpr>(&inner->node);
    if (!name) return false;
    const auto id = program_.names.find(&name->name);
    return id != program_.names.end() && symbol(id->second).kind == SymbolKind::index;
  };
  if (infer(*relation.left) == 0 || infer(*relation.right) == 0) return;
  if (!index_side(*relation.left) && !index_side(*relation.right)) {
    report(Code::E_WHERE, relation.span, "one side of a `where` is an index by itself",
           "use `if` inside the loop for other conditions");
    return;
  }
  check_relation(relation);
}

void Checker::check_wheres(const std::vector<ast::Relation>& wheres) {
  for (const ast::Relation& where : wheres) check_where(where);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::DoLoop& loop) {
  const SymbolId index = loop_index(loop.index, "do");
  const std::size_t open = bound_.size();
  if (index != no_symbol) enter_loop(loop.index, index);
  loops_.push_back({&stmt, false});
  check_wheres(loop.wheres);
  check_body(loop.body);
  loops_.pop_back();
  bound_.resize(open);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::SubLoop& loop) {
  const SymbolId index = resolve(loop.index, {SymbolKind::subindex});
  const SymbolId parent = resolve(loop.parent, {SymbolKind::index});
  const std::size_t open = bound_.size();
  if (index != no_symbol && symbol(index).kind != SymbolKind::subindex) {
    Diagnostic& d =
        report(Code::E_LOOP_VAR, loop.index.span,
               fmt::format("`do .. in` runs over a subindex, `{}` is {}", loop.index.text, describe(symbol(index))),
               symbol(index).kind == SymbolKind::index ? fmt::format("write `do {}`", loop.index.text) : "");
    note(d, index);
  } else if (index != no_symbol && parent != no_symbol && symbol(index).parent != parent) {
    const std::string& declared = symbol(symbol(index).parent).text;
    Diagnostic& d =
        report(Code::E_SUBINDEX_PARENT, loop.parent.span,
               fmt::format("`{}` is a subindex of `{}`, not of `{}`", loop.index.text, declared, loop.parent.text),
               fmt::format("write `do {} in {}`", loop.index.text, declared));
    note(d, index);
    enter_loop(loop.index, index);
  } else if (index != no_symbol) {
    if (parent != no_symbol) use_index(loop.parent, parent);
    enter_loop(loop.index, index);
  }
  loops_.push_back({&stmt, false});
  check_wheres(loop.wheres);
  check_body(loop.body);
  loops_.pop_back();
  bound_.resize(open);
}

void Checker::check_node(const ast::Stmt& stmt, const ast::PardoLoop& loop) {
  if (loop.indices.size() > 6)
    report(Code::E_RANK, loop.indices[6].span,
           fmt::format("a pardo has at most 6 indices, this one has {}", loop.indices.size()));
  collective_use(stmt, CollectiveKind::pardo);
  const std::size_t open = bound_.size();
  std::vector<SymbolId> indices;
  for (std::size_t i = 0; i < loop.indices.size(); ++i) {
    const SymbolId id = loop_index(loop.indices[i], "pardo");
    bool repeated = false;
    for (std::size_t j = 0; j < i; ++j) repeated = repeated || loop.indices[j].name == loop.indices[i].name;
    if (repeated) {
      report(Code::E_PARDO_DUP, loop.indices[i].span,
             fmt::format("`{}` is named twice in this pardo", loop.indices[i].text),
             "the indices of a pardo differ from each other");
      continue;
    }
    indices.push_back(id);
    if (id != no_symbol) enter_loop(loop.indices[i], id);
  }
  const ast::Stmt* outer = pardo_;
  pardo_ = &stmt;
  loops_.push_back({&stmt, true});
  check_wheres(loop.wheres);
  PardoInfo info;
  info.wheres = effective_wheres(loop, indices);
  program_.pardos[&stmt] = std::move(info);
  check_body(loop.body);
  loops_.pop_back();
  pardo_ = outer;
  bound_.resize(open);
}

}  // namespace sial::sema
