#include "compiler/sema/pragma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sial::sema {

struct PardoPragmas::Fragment {
  bool keep_wheres = false;   // WhereFrag: the source's own clauses apply as well
  bool differs = false;       // N: f1 != f2
  std::string distance;       // "", "elst_dist" or "rcut_dist"
  bool two = false;           // a second fragment index
  std::string first, second;  // letters tested against f1 and f2
  std::size_t indices() const { return two ? 2 : 1; }
  std::size_t letters() const { return first.size() + second.size(); }
};

std::vector<const ast::Relation*> PardoPragmas::effective_wheres(const ast::PardoLoop& loop,
                                                                 const std::vector<SymbolId>& indices) {
  std::vector<const ast::Relation*> own, wheres;
  for (const ast::Relation& where : loop.wheres) own.push_back(&where);
  if (!loop.pragma) return own;
  static constexpr std::array<const char*, 5> schedules = {"default_loop_manager", "SequentialPardoLoop",
                                                           "StaticTaskAllocParallelPardoLoop",
                                                           "BalancedTaskAllocParallelPardoLoop", "test_pardo_pragma"};
  if (std::find(schedules.begin(), schedules.end(), *loop.pragma) != schedules.end()) return own;
  Fragment fragment;
  if (!parse_fragment(*loop.pragma, fragment)) {
    context_.report(
        Code::W_PRAGMA, loop.pragma_span, fmt::format("unknown pragma \"{}\"; it is ignored", *loop.pragma),
        "known are default_loop_manager, StaticTaskAllocParallelPardoLoop, BalancedTaskAllocParallelPardoLoop and "
        "\"Frag{S}{letters}{letters}\"");
    return own;
  }
  if (!fits_loop(loop, indices, fragment)) return own;
  if (std::find(indices.begin(), indices.end(), no_symbol) != indices.end()) return own;
  wheres = fragment_wheres(loop, indices, fragment);
  if (fragment.keep_wheres) wheres.insert(wheres.begin(), own.begin(), own.end());
  return wheres;
}

bool PardoPragmas::fits_loop(const ast::PardoLoop& loop, const std::vector<SymbolId>& indices,
                             const Fragment& fragment) {
  const std::size_t fragments = fragment.indices(), letters = fragment.letters();
  if (indices.size() == fragments + letters && loop.indices.size() == indices.size()) return true;
  context_.report(Code::E_PRAGMA_ARRAY, loop.pragma_span,
                  fmt::format("this pragma is for {} fragment ind{} and {} others, the pardo has {} indices", fragments,
                              fragments == 1 ? "ex" : "ices", letters, loop.indices.size()),
                  "one letter of the pragma for every index behind the fragment indices");
  return false;
}

std::vector<const ast::Relation*> PardoPragmas::fragment_wheres(const ast::PardoLoop& loop,
                                                                const std::vector<SymbolId>& indices,
                                                                const Fragment& fragment) {
  std::vector<const ast::Relation*> wheres;
  const auto label = [&](SymbolId id) { return Label{id, context_.symbol(id).index_kind != ast::IndexKind::simple}; };
  const SymbolId f1 = indices[0], f2 = fragment.two ? indices[1] : no_symbol;
  const auto add = [&](const ast::Relation* relation) {
    if (relation) wheres.push_back(relation);
  };
  if (fragment.differs)
    add(synthetic_relation(synthetic_index(f1, loop.pragma_span), ast::RelOp::ne, synthetic_index(f2, loop.pragma_span),
                           loop.pragma_span));
  if (fragment.two) add(fragment_test(loop, fragment.distance, {label(f1), label(f2)}, f1));
  for (std::size_t i = 0; i < fragment.letters(); ++i) {
    const bool first = i < fragment.first.size();
    const char letter = first ? fragment.first[i] : fragment.second[i - fragment.first.size()];
    const SymbolId x = indices[fragment.indices() + i];
    add(fragment_test(loop, letter == 'a' ? "swao_frag" : "swmoa_frag", {label(x)}, first ? f1 : f2));
  }
  return wheres;
}

// "Frag{S}{g1}{g2}" or "WhereFrag{S}{g1}{g2}"; g2 may be missing.
bool PardoPragmas::parse_fragment(const std::string& pragma, Fragment& fragment) {
  std::string_view rest = pragma;
  const auto skip = [&](std::string_view prefix) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    return true;
  };
  const auto group = [&](std::string& text) {
    if (!skip("{")) return false;
    const std::size_t end = rest.find('}');
    if (end == std::string_view::npos) return false;
    text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return true;
  };
  fragment.keep_wheres = skip("Where");
  std::string selection;
  if (!skip("Frag") || !group(selection) || !group(fragment.first)) return false;
  if (!rest.empty() && !group(fragment.second)) return false;
  if (!rest.empty()) return false;
  std::string_view s = selection;
  if (s.starts_with('N')) {
    fragment.differs = true;
    s.remove_prefix(1);
  }
  if (s == "ij") fragment.distance = "elst_dist";
  else if (s == "Rij") fragment.distance = "rcut_dist";
  else if (s != "i" || fragment.differs) return false;
  fragment.two = s != "i";
  const auto letters = [](const std::string& text) { return text.find_first_not_of("aovp") == std::string::npos; };
  return letters(fragment.first) && letters(fragment.second) && (fragment.two || fragment.second.empty());
}

ast::ExprPtr PardoPragmas::synthetic_index(SymbolId id, Span span) const {
  auto e = std::make_unique<ast::Expr>();
  e->span = span;
  e->node = ast::NameExpr{ast::Name{context_.symbol(id).name, context_.symbol(id).text, span}};
  return e;
}

const ast::Relation* PardoPragmas::synthetic_relation(ast::ExprPtr left, ast::RelOp op, ast::ExprPtr right, Span span) {
  context_.program().synthetic.push_back({op, std::move(left), std::move(right), span, span});
  const ast::Relation& relation = context_.program().synthetic.back();
  expressions_.check_relation(relation);
  return &relation;
}

SymbolId PardoPragmas::fragment_array(const ast::PardoLoop& loop, const std::string& name,
                                      const std::vector<Label>& labels) {
  // Visible ones first; the tables are found by their plain names, so one declared anywhere in the program serves too.
  const Lookup lookup = context_.table().find(context_.module_number(), name);
  const SymbolId id = lookup.found.empty() ? context_.table().anywhere(name, SymbolKind::array) : lookup.found.front();
  const char* needs =
      "the pragma filters iterations through the static arrays `elst_dist`, `rcut_dist`, `SwAO_frag` and `SwMOA_frag`";
  if (id == no_symbol) {
    context_.report(Code::E_PRAGMA_ARRAY, loop.pragma_span,
                    fmt::format("this pragma needs a static array `{}`, which is not declared", name), needs);
    return no_symbol;
  }
  const Symbol& array = context_.symbol(id);
  bool fits = array.kind == SymbolKind::array && array.array_kind == ast::ArrayKind::static_ &&
              array.dims.size() == labels.size();
  for (std::size_t i = 0; fits && i < labels.size(); ++i)
    fits = context_.symbol(array.dims[i]).index_kind == ast::IndexKind::simple;
  if (fits) return id;
  Diagnostic& d = context_.report(Code::E_PRAGMA_ARRAY, loop.pragma_span,
                                  fmt::format("this pragma needs `{}` as a static array of {} simple ind{}", name,
                                              labels.size(), labels.size() == 1 ? "ex" : "ices"),
                                  needs);
  context_.note(d, id);
  return no_symbol;
}

// (int) array[labels] == f
const ast::Relation* PardoPragmas::fragment_test(const ast::PardoLoop& loop, const std::string& array,
                                                 const std::vector<Label>& labels, SymbolId f) {
  const Span span = loop.pragma_span;
  const SymbolId id = fragment_array(loop, array, labels);
  if (id == no_symbol) return nullptr;
  ast::Block block{ast::Name{context_.symbol(id).name, context_.symbol(id).text, span}, {}};
  for (const Label& label : labels)
    block.indices.push_back(
        {ast::Name{context_.symbol(label.index).name, context_.symbol(label.index).text, span}, label.simple, span});
  auto element = std::make_unique<ast::Expr>();
  element->span = span;
  element->node = ast::BlockExpr{std::move(block)};
  const ast::Block& placed = std::get<ast::BlockExpr>(element->node).block;
  context_.bind_name(placed.array, id);  // the table may be out of sight of this module
  auto rounded = std::make_unique<ast::Expr>();
  rounded->span = span;
  rounded->node = ast::Cast{ast::CastType::int_, std::move(element)};
  return synthetic_relation(std::move(rounded), ast::RelOp::eq, synthetic_index(f, span), span);
}

}  // namespace sial::sema
