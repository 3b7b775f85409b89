#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/sema/checker.h"

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

void Checker::check_module(int position) {
  module_ = position;
  const ast::Module& module = *compilation_.modules[static_cast<std::size_t>(position)];
  if (Symbol* program = add_symbol(SymbolKind::program, module.name, nullptr)) table_.add(*program);
  for (int m = 0; m < position; ++m) {
    const ast::Module& other = *compilation_.modules[static_cast<std::size_t>(m)];
    if (other.name.name != module.name.name) continue;
    Diagnostic& d = report(Code::E_MODULE_NAME, module.name.span,
                           fmt::format("two files of this compilation are both called `{}`", module.name.text),
                           "names after `sial` tell modules apart: rename one of them");
    d.notes.push_back({other.name.span, fmt::format("`{}` is also the program of this file", other.name.text)});
  }
  for (const ast::Decl& decl : module.declarations) declare(decl);
  if (!module.statements.empty() && position + 1 != static_cast<int>(compilation_.modules.size()))
    report(Code::W_IMPORT_BODY, module.statements.front()->header_span,
           fmt::format("imported module `{}` has statements; they run before the importing program", module.name.text),
           "move them into a procedure if they are not wanted there");
  Routine routine;
  routine.module = position;
  routine.body = &module.statements;
  routine_ = &routine;
  check_body(module.statements);
  routine_ = nullptr;
  routines_.push_back(std::move(routine));
}

Symbol* Checker::add_symbol(SymbolKind kind, const ast::Name& name, const ast::Decl* decl) {
  if (name.name.find('.') != std::string::npos) {
    report(Code::E_QUALIFIED, name.span,
           fmt::format("`{}` cannot be declared: a dot selects a name of another module", name.text),
           "use an underscore");
    return nullptr;
  }
  if (const SymbolId old = table_.clash(module_, name.name); old != no_symbol) {
    const bool imported = symbol(old).module != module_;
    const char* hint = imported ? "a name that an import brings in cannot be declared again: rename this one"
                       : symbol(old).kind == SymbolKind::program
                           ? "the program's own name is taken: rename one of them"
                           : "all kinds of names share one name space, case does not matter";
    Diagnostic& d = report(Code::E_DUP, name.span, fmt::format("`{}` is already declared", name.text), hint);
    note(d, old);
    return nullptr;
  }
  Symbol s;
  s.id = static_cast<SymbolId>(program_.symbols.size());
  s.kind = kind;
  s.name = name.name;
  s.text = name.text;
  s.module = module_;
  s.span = name.span;
  s.decl = decl;
  program_.symbols.push_back(std::move(s));
  bind_name(name, program_.symbols.back().id);
  return &program_.symbols.back();
}

void Checker::declare(const ast::Decl& decl) {
  if (const auto* scalar = std::get_if<ast::ScalarDecl>(&decl.node)) {
    check_modifiers(scalar->modifiers, scalar->name, "scalar", true, false, false);
    if (Symbol* s = add_symbol(SymbolKind::scalar, scalar->name, &decl)) {
      s->predefined = scalar->modifiers.predefined;
      s->initial_scalar = s->predefined ? 0.0 : scalar->initial.value_or(0.0);
      table_.add(*s);
    }
  } else if (const auto* integer = std::get_if<ast::IntDecl>(&decl.node)) {
    check_modifiers(integer->modifiers, integer->name, "int", true, false, false);
    const std::int32_t initial = int32(integer->initial.value_or(0), decl.span);
    if (Symbol* s = add_symbol(SymbolKind::int_, integer->name, &decl)) {
      s->predefined = integer->modifiers.predefined;
      s->initial_int = s->predefined ? 0 : initial;
      table_.add(*s);
    }
  } else if (const auto* index = std::get_if<ast::IndexDecl>(&decl.node)) {
    declare_index(decl, *index);
  } else if (const auto* sub = std::get_if<ast::SubindexDecl>(&decl.node)) {
    declare_subindex(decl, *sub);
  } else if (const auto* array = std::get_if<ast::ArrayDecl>(&decl.node)) {
    declare_array(decl, *array);
  } else if (const auto* special = std::get_if<ast::SpecialDecl>(&decl.node)) {
    declare_special(decl, *special);
  } else if (const auto* proc = std::get_if<ast::ProcDecl>(&decl.node)) {
    declare_proc(decl, *proc);
  }
}

void Checker::check_modifiers(const ast::Modifiers& modifiers, const ast::Name& name, const char* what, bool predefined,
                              bool contiguous, bool sparse) {
  const std::string subject = fmt::format("{} `{}`", what, name.text);
  if (modifiers.contiguous && !contiguous) {
    if (std::string_view(what) == "static array")
      report(Code::W_MODIFIER, modifiers.span, fmt::format("`contiguous` has no effect on {}", subject),
             "every static array is contiguous");
    else
      report(Code::E_MODIFIER, modifiers.span, fmt::format("`contiguous` does not apply to {}", subject),
             "only `contiguous local` arrays exist");
  }
  if (modifiers.predefined && !predefined) {
    if (std::string_view(what) == "index")
      report(Code::W_MODIFIER, modifiers.span, fmt::format("`predefined` has no effect on {}", subject),
             "an index takes its values from its range");
    else
      report(Code::E_MODIFIER, modifiers.span, fmt::format("`predefined` does not apply to {}", subject),
             "scalars, ints and static arrays can be predefined");
  }
  if (modifiers.sparse && !sparse)
    report(Code::W_MODIFIER, modifiers.span, fmt::format("`sparse` has no effect on {}", subject),
           "it is meant for distributed and served arrays");
}

std::int32_t Checker::int32(std::int64_t value, Span span) {
  if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max())
    return static_cast<std::int32_t>(value);
  // A literal beyond 64 bits has the largest value there is.
  const std::string shown = value == std::numeric_limits<std::int64_t>::max() ? "the number" : fmt::format("{}", value);
  report(Code::E_INT_RANGE, span, fmt::format("{} does not fit into a 32-bit int", shown),
         "the largest int is 2147483647; use a scalar and a real literal for larger numbers");
  return 0;
}

bool Checker::check_bound(const ast::RangeBound& bound, ast::IndexKind kind, BoundValue& value) {
  if (bound.name) {
    const SymbolId id = resolve(*bound.name, {SymbolKind::int_});
    if (id == no_symbol) return false;
    const Symbol& s = symbol(id);
    if (s.kind != SymbolKind::int_ || !s.predefined) {
      Diagnostic& d =
          report(Code::E_RANGE_BOUND, bound.span, fmt::format("`{}` is {}, not a predefined int", s.text, describe(s)),
                 "a range bound is a literal or a predefined int");
      note(d, id);
      return false;
    }
    value.symbol = id;
    return true;
  }
  const std::int64_t literal = bound.negative ? -bound.literal.value_or(0) : bound.literal.value_or(0);
  const int before = emitter_.error_count();
  value.literal = int32(literal, bound.span);
  if (emitter_.error_count() != before) return false;
  if (value.literal == std::numeric_limits<std::int32_t>::min()) {
    report(Code::E_INT_RANGE, bound.span, fmt::format("{} is no value of an index", literal),
           "the least is -2147483647");
    return false;
  }
  if (kind != ast::IndexKind::simple && literal < 1) {
    report(Code::E_RANGE_NEG, bound.span,
           fmt::format("{} counts segments from 1, {} is not one of them", an_index_word(kind), literal),
           "only `index` ranges may begin at zero or below");
    return false;
  }
  return true;
}

void Checker::check_range(const ast::IndexDecl& index, const BoundValue& lo, const BoundValue& hi) {
  const Span span = cover(index.lo.span, index.hi.span);
  if (lo.symbol == no_symbol && hi.symbol == no_symbol) {
    if (lo.literal > hi.literal)
      report(Code::E_RANGE_EMPTY, span, fmt::format("the range {}:{} is empty", lo.literal, hi.literal),
             fmt::format("the smaller bound comes first: {}:{}", hi.literal, lo.literal));
    return;
  }
  if (lo.symbol == no_symbol || hi.symbol == no_symbol) return;
  const auto first = classic_bound(symbol(lo.symbol).name), last = classic_bound(symbol(hi.symbol).name);
  if (!first || !last || first->place <= last->place) return;
  if (first->spin != last->spin && first->spin != '*') return;
  const std::string text = fmt::format("{}:{}", symbol(lo.symbol).text, symbol(hi.symbol).text);
  const std::string swapped = fmt::format("did you mean {}:{}?", symbol(hi.symbol).text, symbol(lo.symbol).text);
  if (first->place <= 3 && first->place >= 2 && last->place <= 1)
    report(Code::E_RANGE_EMPTY, span,
           fmt::format("the range {} is empty: virtual segments come after occupied ones", text), swapped);
  else
    report(Code::W_RANGE_REVERSED, span, fmt::format("the range {} runs backwards; it has at most one segment", text),
           swapped);
}

void Checker::declare_index(const ast::Decl& decl, const ast::IndexDecl& index) {
  check_modifiers(index.modifiers, index.name, "index", false, false, false);
  BoundValue lo, hi;
  const bool lo_ok = check_bound(index.lo, index.kind, lo), hi_ok = check_bound(index.hi, index.kind, hi);
  if (lo_ok && hi_ok) check_range(index, lo, hi);
  if (Symbol* s = add_symbol(SymbolKind::index, index.name, &decl)) {
    s->index_kind = index.kind;
    s->lo = lo;
    s->hi = hi;
    table_.add(*s);
  }
}

void Checker::declare_subindex(const ast::Decl& decl, const ast::SubindexDecl& sub) {
  const SymbolId parent = resolve(sub.parent, {SymbolKind::index});
  if (parent != no_symbol && symbol(parent).kind != SymbolKind::index) {
    Diagnostic& d = report(
        Code::E_SUBINDEX_PARENT, sub.parent.span,
        fmt::format("the parent of a subindex is an index, `{}` is {}", sub.parent.text, describe(symbol(parent))));
    note(d, parent);
    reported_names_.emplace(module_, sub.name.name);
    return;
  }
  if (parent == no_symbol) {
    reported_names_.emplace(module_, sub.name.name);
    return;
  }
  const ast::IndexKind kind = symbol(parent).index_kind;
  if (Symbol* s = add_symbol(SymbolKind::subindex, sub.name, &decl)) {
    s->parent = parent;
    s->index_kind = kind;
    table_.add(*s);
  }
}

void Checker::declare_array(const ast::Decl& decl, const ast::ArrayDecl& array) {
  const bool local = array.kind == ast::ArrayKind::local, is_static = array.kind == ast::ArrayKind::static_;
  const bool remote = array.kind == ast::ArrayKind::distributed || array.kind == ast::ArrayKind::served;
  check_modifiers(array.modifiers, array.name, is_static ? "static array" : "array", is_static, local, remote);
  std::vector<SymbolId> dims;
  bool ok = true;
  if (array.dims.size() > 6) {
    report(Code::E_RANK, cover(array.dims[6].span, array.dims.back().span),
           fmt::format("`{}` has {} dimensions; arrays have 1 to 6", array.name.text, array.dims.size()));
    ok = false;
  }
  for (const ast::Name& dim : array.dims) {
    const SymbolId id = resolve(dim, {SymbolKind::index, SymbolKind::subindex});
    if (id == no_symbol) {
      ok = false;
    } else if (symbol(id).kind != SymbolKind::index && symbol(id).kind != SymbolKind::subindex) {
      Diagnostic& d =
          report(Code::E_NOT_INDEX, dim.span,
                 fmt::format("a dimension is named by an index, `{}` is {}", dim.text, describe(symbol(id))));
      note(d, id);
      ok = false;
    } else if (symbol(id).kind == SymbolKind::subindex && (is_static || array.modifiers.contiguous)) {
      Diagnostic& d =
          report(Code::E_NOT_INDEX, dim.span,
                 fmt::format("`{}` is stored as a whole and cannot be divided by the subindex `{}`", array.name.text,
                             dim.text),
                 fmt::format("use the index `{}`, or a temp or local array", symbol(symbol(id).parent).text));
      note(d, id);
      ok = false;
    }
    dims.push_back(id);
  }
  if (!ok) {  // the name is known, but nothing about its use can be judged
    reported_names_.emplace(module_, array.name.name);
    return;
  }
  if (Symbol* s = add_symbol(SymbolKind::array, array.name, &decl)) {
    s->predefined = array.modifiers.predefined;
    s->contiguous = is_static || (local && array.modifiers.contiguous);
    s->sparse = array.modifiers.sparse;
    s->array_kind = array.kind;
    s->dims = std::move(dims);
    table_.add(*s);
  }
}

void Checker::declare_special(const ast::Decl& decl, const ast::SpecialDecl& special) {
  std::string signature = special.signature ? special.signature->name : std::string();
  const std::size_t bad = signature.find_first_not_of("rwu");
  if (bad != std::string::npos) {
    report(Code::E_SIG, special.signature->span,
           fmt::format("the signature `{}` has the letter `{}`", special.signature->text, special.signature->text[bad]),
           "one letter per argument: r (read), w (written), u (read and written)");
  } else if (signature.size() > 6) {
    report(Code::E_SIG, special.signature->span,
           fmt::format("the signature `{}` has {} arguments", signature, signature.size()),
           "a special takes at most six");
  }
  if (bad != std::string::npos || signature.size() > 6) {
    reported_names_.emplace(module_, special.name.name);
    return;
  }
  if (Symbol* s = add_symbol(SymbolKind::special, special.name, &decl)) {
    s->signature = std::move(signature);
    table_.add(*s);
  }
}

void Checker::declare_proc(const ast::Decl& decl, const ast::ProcDecl& proc) {
  Routine routine;
  routine.module = module_;
  routine.body = &proc.body;
  if (Symbol* s = add_symbol(SymbolKind::proc, proc.name, &decl)) {
    s->proc = &proc;
    routine.proc = s->id;
    table_.add(*s);  // before the body: a procedure may call itself
  }
  routine_ = &routine;
  check_body(proc.body);
  routine_ = nullptr;
  if (routine.proc != no_symbol) routines_.push_back(std::move(routine));
}

}  // namespace sial::sema
