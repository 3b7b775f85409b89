#include "compiler/sema/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/diag/table.h"
#include "compiler/sema/each_stmt.h"
#include "compiler/sema/expression_shape.h"
#include "compiler/sema/text.h"

namespace sial::sema {
namespace {

Span first_word(Span statement, std::string_view word) {
  return {statement.file, statement.begin, statement.begin + static_cast<std::uint32_t>(word.size())};
}

std::string bound_text(const BoundValue& bound, const std::vector<Symbol>& symbols) {
  return bound.symbol == no_symbol ? fmt::format("{}", bound.literal)
                                   : symbols[static_cast<std::size_t>(bound.symbol)].text;
}

/// Collects how a module uses a name.
class Uses {
 public:
  Uses(std::string name, int module, const SymbolTable& table, const std::vector<Symbol>& symbols)
      : name_(std::move(name)), module_(module), table_(table), symbols_(symbols) {}

  void look(const ast::Body& body) {
    for_each_stmt(body, [&](const ast::Stmt& stmt) { std::visit([&](const auto& node) { see(node); }, stmt.node); });
  }

  std::string index(const std::string& text) const {
    if (ranges_.size() != 1) return {};
    return fmt::format(fmt::runtime(*ranges_.begin()), text);
  }
  std::string variable(const std::string& text) const {
    if (!assigned_) return {};
    return (scalar_ ? "scalar " : "int ") + text;
  }
  std::string array(const std::string& text) const {
    if (dims_.empty() || (get_or_put_ && request_or_prepare_)) return {};
    return fmt::format("{} {}[{}]", get_or_put_ ? "distributed" : request_or_prepare_ ? "served" : "temp", text, dims_);
  }

 private:
  const Symbol* find(const std::string& name) const {
    const Lookup lookup = table_.find(module_, name);
    return lookup.found.size() == 1 ? &symbols_[static_cast<std::size_t>(lookup.found.front())] : nullptr;
  }

  void see(const ast::Block& block) {
    const Symbol* array = find(block.array.name);
    if (array == nullptr || array->kind != SymbolKind::array || array->dims.size() != block.indices.size()) return;
    for (std::size_t d = 0; d < block.indices.size(); ++d) {
      if (block.indices[d].index.name != name_ || block.indices[d].as_simple) continue;
      const Symbol& like = symbols_[static_cast<std::size_t>(array->dims[d])];
      if (like.kind != SymbolKind::index || !has_range(like)) continue;
      ranges_.insert(fmt::format("{} {{}} = {}:{}", index_word(like.index_kind), bound_text(like.lo, symbols_),
                                 bound_text(like.hi, symbols_)));
    }
  }
  /// Not of an index whose bounds were refused.
  static bool has_range(const Symbol& index) {
    const auto* decl = index.decl ? std::get_if<ast::IndexDecl>(&index.decl->node) : nullptr;
    return decl && decl->lo.name.has_value() == (index.lo.symbol != no_symbol) &&
           decl->hi.name.has_value() == (index.hi.symbol != no_symbol);
  }
  void set(const ast::Block& block) {
    see(block);
    if (block.array.name != name_ || !dims_.empty()) return;
    for (const ast::BlockIndex& index : block.indices) {
      const Symbol* s = find(index.index.name);
      if (index.as_simple || s == nullptr || (s->kind != SymbolKind::index && s->kind != SymbolKind::subindex)) {
        dims_.clear();
        return;
      }
      dims_ += (dims_.empty() ? "" : ",") + s->text;
    }
  }
  void see(const ast::Expr& e) {
    if (const auto* block = std::get_if<ast::BlockExpr>(&e.node)) see(block->block);
    else if (const auto* unary = std::get_if<ast::Unary>(&e.node)) see(*unary->operand);
    else if (const auto* cast = std::get_if<ast::Cast>(&e.node)) see(*cast->operand);
    else if (const auto* paren = std::get_if<ast::Paren>(&e.node)) see(*paren->inner);
    else if (const auto* binary = std::get_if<ast::Binary>(&e.node)) {
      see(*binary->left);
      see(*binary->right);
    }
  }
  /// Whether an expression has ints only, as far as its leaves tell.
  bool ints_only(const ast::Expr& e) const {
    if (std::holds_alternative<ast::IntLit>(e.node)) return true;
    if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) {
      const Symbol* s = find(name->name.name);
      return name->name.name == name_ ||
             (s != nullptr && (s->kind == SymbolKind::int_ || s->kind == SymbolKind::index));
    }
    if (const auto* unary = std::get_if<ast::Unary>(&e.node)) return ints_only(*unary->operand);
    if (const auto* cast = std::get_if<ast::Cast>(&e.node)) return cast->type == ast::CastType::int_;
    if (const auto* paren = std::get_if<ast::Paren>(&e.node)) return ints_only(*paren->inner);
    if (const auto* binary = std::get_if<ast::Binary>(&e.node))
      return ints_only(*binary->left) && ints_only(*binary->right);
    return false;
  }

  void see(const ast::AssignName& assign) {
    see(*assign.value);
    if (assign.target.name != name_) return;
    assigned_ = true;
    scalar_ = scalar_ || !ints_only(*assign.value);
  }
  void see(const ast::Collective& collective) {
    see(*collective.value);
    if (collective.target.name == name_) assigned_ = scalar_ = true;
  }
  void see(const ast::AssignBlock& assign) {
    set(assign.target);
    see(*assign.value);
  }
  void see(const ast::Put& put) {
    set(put.block);
    see(*put.value);
    if (put.block.array.name == name_) (put.prepare ? request_or_prepare_ : get_or_put_) = true;
  }
  void see(const ast::Get& get) {
    see(get.block);
    if (get.block.array.name == name_) (get.request ? request_or_prepare_ : get_or_put_) = true;
  }
  void see(const ast::Print& print) { see(*print.value); }
  void see(const ast::If& branch) {
    see(*branch.condition.left);
    see(*branch.condition.right);
  }
  void see(const ast::Execute& execute) {
    for (const ast::Arg& arg : execute.args)
      if (const auto* block = std::get_if<ast::Block>(&arg.node)) see(*block);
  }
  template <class Other>
  void see(const Other&) {}

  const std::string name_;
  const int module_;
  const SymbolTable& table_;
  const std::vector<Symbol>& symbols_;
  std::set<std::string> ranges_;
  std::string dims_;
  bool assigned_ = false, scalar_ = false, get_or_put_ = false, request_or_prepare_ = false;
};

}  // namespace

Fix other_keyword(Span statement, std::string_view word, std::string other) {
  return replace(first_word(statement, word), std::move(other));
}

Fix without_keyword(Span statement, std::string_view word) {
  Span span = first_word(statement, word);
  ++span.end;  // the blank or tab that ends a word before a name
  return remove(fmt::format("remove `{}`", word), span);
}

std::optional<Fix> as_scalar(const ast::Expr& e) {
  const ast::Expr& inner = strip(e);
  if (const auto* literal = std::get_if<ast::IntLit>(&inner.node))
    return replace(inner.span, fmt::format("{}.0", literal->value));
  if (const auto* unary = std::get_if<ast::Unary>(&inner.node); unary && unary->op == ast::UnaryOp::negate)
    return as_scalar(*unary->operand);
  if (const auto* name = std::get_if<ast::NameExpr>(&inner.node))
    return replace(inner.span, "(scalar)" + name->name.text);
  return {};
}

std::optional<Fix> without_parentheses(const ast::Expr& e) {
  const auto* paren = std::get_if<ast::Paren>(&e.node);
  if (paren == nullptr) return {};
  const Span inner = paren->inner->span;
  return Fix{"remove the parentheses",
             {{Edit::What::replace, {e.span.file, e.span.begin, inner.begin}},
              {Edit::What::replace, {e.span.file, inner.end, e.span.end}}}};
}

std::optional<Fix> without_cast(const ast::Expr& e, const ast::Cast& cast) {
  return remove("remove the cast", {e.span.file, e.span.begin, cast.operand->span.begin});
}

std::string text_of(const ast::Block& block) {
  std::string text;
  for (const ast::BlockIndex& index : block.indices)
    text += (text.empty() ? "" : ",") + std::string(index.as_simple ? "(index)" : "") + index.index.text;
  return fmt::format("{}[{}]", block.array.text, text);
}

std::string declaration_for(const ast::Name& use, const std::vector<SymbolKind>& kinds, const ast::Module& module,
                            int module_number, const SymbolTable& table, const std::vector<Symbol>& symbols) {
  if (use.name.find('.') != std::string::npos) return {};
  const auto possible = [&](SymbolKind kind) {
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  const bool in_declaration =
      std::any_of(module.declarations.begin(), module.declarations.end(), [&](const ast::Decl& decl) {
        return !std::holds_alternative<ast::ProcDecl>(decl.node) && decl.span.begin <= use.span.begin &&
               use.span.end <= decl.span.end;
      });
  if (in_declaration) return kinds == std::vector{SymbolKind::int_} ? "predefined int " + use.text : std::string();
  Uses uses(use.name, module_number, table, symbols);
  for (const ast::Decl& decl : module.declarations)
    if (const auto* proc = std::get_if<ast::ProcDecl>(&decl.node)) uses.look(proc->body);
  uses.look(module.statements);
  std::string declaration;
  if (possible(SymbolKind::index)) declaration = uses.index(use.text);
  if (declaration.empty() && (possible(SymbolKind::scalar) || possible(SymbolKind::int_)))
    declaration = uses.variable(use.text);
  if (declaration.empty() && possible(SymbolKind::array)) declaration = uses.array(use.text);
  return declaration;
}

Fix declare(const ast::Name& use, const ast::Module& module, std::string declaration) {
  std::string title = fmt::format("declare `{}`", declaration);
  Edit edit{Edit::What::line_below, module.name.span, std::move(declaration)};
  for (const ast::Decl& decl : module.declarations) {
    if (decl.span.begin > use.span.begin) break;
    if (std::holds_alternative<ast::ProcDecl>(decl.node)) continue;
    edit.span = decl.span;
    if (use.span.end <= decl.span.end) edit.what = Edit::What::line_above;
  }
  edit.like = edit.span;
  return {std::move(title), {std::move(edit)}};
}

}  // namespace sial::sema
