#include "compiler/sema/declarations.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "compiler/sema/fixes.h"

#include "runtime/core/base/shape.h"

namespace sial::sema {

namespace {

// Places of the classic range names on one axis per spin family: occupied begin and end, virtual begin and end. `norb`
// is the end of everything. Nullopt for other names.
struct ClassicBound {
  char spin;
  int place;
};
std::optional<ClassicBound> classic_bound(std::string_view name) {
  if (name == "norb") return ClassicBound{'*', 4};
  if (name.size() < 5 || (name[0] != 'b' && name[0] != 'e')) return std::nullopt;
  const bool end = name[0] == 'e';
  char spin = ' ';
  std::string_view rest = name.substr(1);
  if (rest[0] == 'a' || rest[0] == 'b') {
    spin = rest[0];
    rest.remove_prefix(1);
  }
  if (rest == "occ") return ClassicBound{spin, end ? 1 : 0};
  if (rest == "virt") return ClassicBound{spin, end ? 3 : 2};
  return std::nullopt;
}

}  // namespace

void Declarations::declare(const ast::Decl& decl) {
  if (const auto* scalar = std::get_if<ast::ScalarDecl>(&decl.node)) {
    declare_scalar(decl, *scalar);
  } else if (const auto* integer = std::get_if<ast::IntDecl>(&decl.node)) {
    declare_int(decl, *integer);
  } else if (const auto* index = std::get_if<ast::IndexDecl>(&decl.node)) {
    declare_index(decl, *index);
  } else if (const auto* sub = std::get_if<ast::SubindexDecl>(&decl.node)) {
    declare_subindex(decl, *sub);
  } else if (const auto* array = std::get_if<ast::ArrayDecl>(&decl.node)) {
    declare_array(decl, *array);
  } else if (const auto* special = std::get_if<ast::SpecialDecl>(&decl.node)) {
    declare_special(decl, *special);
  }
}

void Declarations::declare_scalar(const ast::Decl& decl, const ast::ScalarDecl& scalar) {
  check_modifiers(scalar.modifiers, scalar.name, "scalar", true, false, false);
  if (Symbol* s = context_.add_symbol(SymbolKind::scalar, scalar.name, &decl)) {
    s->predefined = scalar.modifiers.predefined;
    s->initial_scalar = s->predefined ? 0.0 : scalar.initial.value_or(0.0);
    context_.make_visible(*s);
  }
}

void Declarations::declare_int(const ast::Decl& decl, const ast::IntDecl& integer) {
  check_modifiers(integer.modifiers, integer.name, "int", true, false, false);
  const std::int32_t initial = context_.int32(integer.initial.value_or(0), decl.span);
  if (Symbol* s = context_.add_symbol(SymbolKind::int_, integer.name, &decl)) {
    s->predefined = integer.modifiers.predefined;
    s->initial_int = s->predefined ? 0 : initial;
    context_.make_visible(*s);
  }
}

void Declarations::check_modifiers(const ast::Modifiers& modifiers, const ast::Name& name, const char* what,
                                   bool predefined, bool contiguous, bool sparse) {
  const std::string subject = fmt::format("{} `{}`", what, name.text);
  const auto without = [&](const char* word) { return context_.without_modifier(modifiers.span, word); };
  if (modifiers.contiguous && !contiguous) {
    if (const bool is_static = std::string_view(what) == "static array"; is_static || !subject.starts_with("array"))
      context_
          .report(Code::W_MODIFIER, modifiers.span, fmt::format("`contiguous` has no effect on {}", subject),
                  is_static ? "every static array is contiguous" : "it is meant for local arrays")
          .fix(without("contiguous"));
    else
      context_
          .report(Code::E_MODIFIER, modifiers.span, fmt::format("`contiguous` does not apply to {}", subject),
                  "only `contiguous local` arrays exist")
          .fix(without("contiguous"));
  }
  if (modifiers.predefined && !predefined) {
    if (std::string_view(what) == "index")
      context_
          .report(Code::W_MODIFIER, modifiers.span, fmt::format("`predefined` has no effect on {}", subject),
                  "an index takes its values from its range")
          .fix(without("predefined"));
    else
      context_
          .report(Code::E_MODIFIER, modifiers.span, fmt::format("`predefined` does not apply to {}", subject),
                  "scalars, ints, and static, distributed and served arrays can be predefined")
          .fix(without("predefined"));
  }
  if (modifiers.sparse && !sparse)
    context_
        .report(Code::W_MODIFIER, modifiers.span, fmt::format("`sparse` has no effect on {}", subject),
                "it is meant for distributed and served arrays")
        .fix(without("sparse"));
}

bool Declarations::check_bound(const ast::RangeBound& bound, ast::IndexKind kind, BoundValue& value) {
  if (bound.name) {
    const SymbolId id = context_.resolve(*bound.name, {SymbolKind::int_});
    if (id == no_symbol) return false;
    const Symbol& s = context_.symbol(id);
    if (s.kind != SymbolKind::int_ || !s.predefined) {
      Diagnostic& d = context_.report(Code::E_RANGE_BOUND, bound.span,
                                      fmt::format("`{}` is {}, not a predefined int", s.text, describe(s)),
                                      "a range bound is a literal or a predefined int");
      context_.note(d, id);
      return false;
    }
    value.symbol = id;
    return true;
  }
  const std::int64_t literal = bound.negative ? -bound.literal.value_or(0) : bound.literal.value_or(0);
  const int before = context_.error_count();
  value.literal = context_.int32(literal, bound.span);
  if (context_.error_count() != before) return false;
  if (value.literal == std::numeric_limits<std::int32_t>::min()) {
    context_.report(Code::E_INT_RANGE, bound.span, fmt::format("{} is no value of an index", literal),
                    "the least is -2147483647");
    return false;
  }
  if (kind != ast::IndexKind::simple && literal < 1) {
    context_.report(Code::E_RANGE_NEG, bound.span,
                    fmt::format("{} counts segments from 1, {} is not one of them", an_index_word(kind), literal),
                    "only `index` ranges may begin at zero or below");
    return false;
  }
  return true;
}

void Declarations::check_range(const ast::IndexDecl& index, const BoundValue& lo, const BoundValue& hi) {
  const Span span = cover(index.lo.span, index.hi.span);
  if (lo.symbol == no_symbol && hi.symbol == no_symbol) {
    if (lo.literal > hi.literal)
      context_
          .report(Code::E_RANGE_EMPTY, span, fmt::format("the range {}:{} is empty", lo.literal, hi.literal),
                  fmt::format("the smaller bound comes first: {}:{}", hi.literal, lo.literal))
          .fix(offered(replace(span, fmt::format("{}:{}", hi.literal, lo.literal))));
    return;
  }
  if (lo.symbol == no_symbol || hi.symbol == no_symbol) return;
  const auto first = classic_bound(context_.symbol(lo.symbol).name),
             last = classic_bound(context_.symbol(hi.symbol).name);
  if (!first || !last || first->place <= last->place) return;
  if (first->spin != last->spin && first->spin != '*') return;
  const std::string text = fmt::format("{}:{}", context_.symbol(lo.symbol).text, context_.symbol(hi.symbol).text);
  const std::string swapped =
      fmt::format("did you mean {}:{}?", context_.symbol(hi.symbol).text, context_.symbol(lo.symbol).text);
  const Fix fix = replace(span, fmt::format("{}:{}", context_.symbol(hi.symbol).text, context_.symbol(lo.symbol).text));
  if (first->place <= 3 && first->place >= 2 && last->place <= 1)
    context_
        .report(Code::E_RANGE_EMPTY, span,
                fmt::format("the range {} is empty: virtual segments come after occupied ones", text), swapped)
        .fix(offered(fix));
  else
    context_
        .report(Code::W_RANGE_REVERSED, span,
                fmt::format("the range {} runs backwards; it has at most one segment", text), swapped)
        .fix(offered(fix));
}

void Declarations::declare_index(const ast::Decl& decl, const ast::IndexDecl& index) {
  check_modifiers(index.modifiers, index.name, "index", false, false, false);
  BoundValue lo, hi;
  const bool lo_ok = check_bound(index.lo, index.kind, lo), hi_ok = check_bound(index.hi, index.kind, hi);
  if (lo_ok && hi_ok) check_range(index, lo, hi);
  if (Symbol* s = context_.add_symbol(SymbolKind::index, index.name, &decl)) {
    s->index_kind = index.kind;
    s->lo = lo;
    s->hi = hi;
    context_.make_visible(*s);
  }
}

void Declarations::declare_subindex(const ast::Decl& decl, const ast::SubindexDecl& sub) {
  const SymbolId parent = context_.resolve(sub.parent, {SymbolKind::index});
  if (parent != no_symbol && context_.symbol(parent).kind != SymbolKind::index) {
    Diagnostic& d = context_.report(Code::E_SUBINDEX_PARENT, sub.parent.span,
                                    fmt::format("the parent of a subindex is an index, `{}` is {}", sub.parent.text,
                                                describe(context_.symbol(parent))));
    context_.note(d, parent);
    context_.refuse(sub.name);
    return;
  }
  if (parent == no_symbol) {
    context_.refuse(sub.name);
    return;
  }
  const ast::IndexKind kind = context_.symbol(parent).index_kind;
  if (Symbol* s = context_.add_symbol(SymbolKind::subindex, sub.name, &decl)) {
    s->parent = parent;
    s->index_kind = kind;
    context_.make_visible(*s);
  }
}

bool Declarations::check_dimension(const ast::ArrayDecl& array, const ast::Name& dim, SymbolId id) {
  if (id == no_symbol) return false;
  const Symbol& index = context_.symbol(id);
  if (index.kind != SymbolKind::index && index.kind != SymbolKind::subindex) {
    Diagnostic& d =
        context_.report(Code::E_NOT_INDEX, dim.span,
                        fmt::format("a dimension is named by an index, `{}` is {}", dim.text, describe(index)));
    context_.note(d, id);
    return false;
  }
  const bool whole = array.kind == ast::ArrayKind::static_ || array.modifiers.contiguous;
  if (index.kind != SymbolKind::subindex || !whole) return true;
  Diagnostic& d = context_.report(
      Code::E_NOT_INDEX, dim.span,
      fmt::format("`{}` is stored as a whole and cannot be divided by the subindex `{}`", array.name.text, dim.text),
      fmt::format("use the index `{}`, or a temp or local array", context_.symbol(index.parent).text));
  context_.note(d, id);
  return false;
}

void Declarations::declare_array(const ast::Decl& decl, const ast::ArrayDecl& array) {
  const bool local = array.kind == ast::ArrayKind::local, is_static = array.kind == ast::ArrayKind::static_;
  const bool remote = array.kind == ast::ArrayKind::distributed || array.kind == ast::ArrayKind::served;
  check_modifiers(array.modifiers, array.name, is_static ? "static array" : "array", is_static || remote, local,
                  remote);
  std::vector<SymbolId> dims;
  bool ok = true;
  if (array.dims.size() > max_rank) {
    context_.report(
        Code::E_RANK, cover(array.dims[max_rank].span, array.dims.back().span),
        fmt::format("`{}` has {} dimensions; arrays have 1 to {}", array.name.text, array.dims.size(), max_rank));
    ok = false;
  }
  for (const ast::Name& dim : array.dims) {
    const SymbolId id = context_.resolve(dim, {SymbolKind::index, SymbolKind::subindex});
    if (!check_dimension(array, dim, id)) ok = false;
    dims.push_back(id);
  }
  if (!ok) {  // the name is known, but nothing about its use can be judged
    context_.refuse(array.name);
    return;
  }
  if (Symbol* s = context_.add_symbol(SymbolKind::array, array.name, &decl)) {
    s->predefined = array.modifiers.predefined;
    s->contiguous = is_static || (local && array.modifiers.contiguous);
    s->sparse = array.modifiers.sparse;
    s->array_kind = array.kind;
    s->dims = std::move(dims);
    context_.make_visible(*s);
  }
}

void Declarations::declare_special(const ast::Decl& decl, const ast::SpecialDecl& special) {
  std::string signature = special.signature ? special.signature->name : std::string();
  const std::size_t bad = signature.find_first_not_of("rwu");
  if (bad != std::string::npos) {
    context_.report(
        Code::E_SIG, special.signature->span,
        fmt::format("the signature `{}` has the letter `{}`", special.signature->text, special.signature->text[bad]),
        "one letter per argument: r (read), w (written), u (read and written)");
  } else if (signature.size() > max_rank) {
    context_.report(Code::E_SIG, special.signature->span,
                    fmt::format("the signature `{}` has {} arguments", signature, signature.size()),
                    fmt::format("a special takes at most {}", max_rank));
  }
  if (bad != std::string::npos || signature.size() > max_rank) {
    context_.refuse(special.name);
    return;
  }
  if (Symbol* s = context_.add_symbol(SymbolKind::special, special.name, &decl)) {
    s->signature = std::move(signature);
    context_.make_visible(*s);
  }
}

SymbolId Declarations::declare_proc(const ast::Decl& decl, const ast::ProcDecl& proc) {
  Symbol* s = context_.add_symbol(SymbolKind::proc, proc.name, &decl);
  if (!s) return no_symbol;
  s->proc = &proc;
  context_.make_visible(*s);
  return s->id;
}

void Declarations::declare_module(const ast::Module& module) {
  if (Symbol* s = context_.add_symbol(SymbolKind::program, module.name, nullptr)) context_.make_visible(*s);
}

}  // namespace sial::sema
