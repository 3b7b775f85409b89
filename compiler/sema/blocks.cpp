#include <fmt/format.h>

#include <algorithm>

#include "compiler/sema/checker.h"

namespace sial::sema {

SymbolId Checker::resolve_array(const ast::Name& name, std::string_view what) {
  const SymbolId id = resolve(name, {SymbolKind::array});
  if (id == no_symbol) return no_symbol;
  if (symbol(id).kind == SymbolKind::array) return id;
  Diagnostic& d = report(Code::E_NOT_ARRAY, name.span,
                         fmt::format("{} an array, `{}` is {}", what, name.text, describe(symbol(id))));
  note(d, id);
  return no_symbol;
}

void Checker::use_index(const ast::Name& name, SymbolId id) {
  for (const auto& [index, span] : bound_)
    if (index == id) return;
  routine_->free_indices.push_back({id, name.span, body_});
}

SymbolId Checker::check_label(const ast::Name& name, bool as_simple, Span span, SymbolId array, std::size_t dimension,
                              BlockInfo& info) {
  const SymbolId id = resolve(name, {SymbolKind::index, SymbolKind::subindex});
  if (id == no_symbol) return no_symbol;
  const Symbol& used = symbol(id);
  if (used.kind != SymbolKind::index && used.kind != SymbolKind::subindex) {
    Diagnostic& d = report(Code::E_NOT_INDEX, span,
                           fmt::format("a block is selected by indices, `{}` is {}", name.text, describe(used)),
                           used.kind == SymbolKind::int_ ? "loop over an index with the range wanted" : "");
    note(d, id);
    return no_symbol;
  }
  if (as_simple && used.kind == SymbolKind::subindex) {
    Diagnostic& d =
        report(Code::E_SUBINDEX_VALUE, span, fmt::format("the subindex `{}` has no number to select with", used.text));
    note(d, id);
    return no_symbol;
  }
  const Symbol& declared = symbol(symbol(array).dims[dimension]);
  const ast::IndexKind kind = as_simple ? ast::IndexKind::simple : used.index_kind;
  if (kind != declared.index_kind) {
    std::string hint;
    if (declared.index_kind == ast::IndexKind::simple)
      hint = fmt::format("`(index){}` selects by the segment number", used.text);
    else hint = fmt::format("{} is needed here, like `{}`", an_index_word(declared.index_kind), declared.text);
    Diagnostic& d = report(Code::E_KIND, span,
                           fmt::format("dimension {} of `{}` is declared with the {} `{}`, but `{}` is {}",
                                       dimension + 1, symbol(array).text, index_word(declared.index_kind),
                                       declared.text, name.text, as_simple ? "used as a simple index" : describe(used)),
                           hint);
    note(d, array);
    return no_symbol;
  }
  if (declared.kind == SymbolKind::subindex && used.kind != SymbolKind::subindex) {
    Diagnostic& d = report(
        Code::E_SLICE, span,
        fmt::format("dimension {} of `{}` is divided into subsegments by `{}`, `{}` selects whole segments",
                    dimension + 1, symbol(array).text, declared.text, used.text),
        fmt::format("use `{}` inside `do {} in {}`", declared.text, declared.text, symbol(declared.parent).text));
    note(d, array);
    return no_symbol;
  }
  if (used.kind == SymbolKind::subindex && declared.kind == SymbolKind::index) info.sub_block = true;
  use_index(name, id);
  return id;
}

BlockInfo Checker::check_block(const ast::Block& block, bool slices_allowed) {
  BlockInfo info;
  const SymbolId array = resolve_array(block.array, "a block belongs to");
  if (array == no_symbol) {
    for (const ast::BlockIndex& index : block.indices) resolve(index.index, {SymbolKind::index, SymbolKind::subindex});
    return info;
  }
  const Symbol& a = symbol(array);
  const Span span =
      block.indices.empty() ? block.array.span : cover(block.indices.front().span, block.indices.back().span);
  if (a.dims.size() != block.indices.size()) {
    Diagnostic& d = report(
        Code::E_RANK, span,
        fmt::format("`{}` has {} dimension{}, {} ind{} given", a.text, a.dims.size(), a.dims.size() == 1 ? "" : "s",
                    block.indices.size(), block.indices.size() == 1 ? "ex is" : "ices are"));
    note(d, array);
    return info;
  }
  info.ok = true;
  info.all_simple = true;
  for (std::size_t i = 0; i < block.indices.size(); ++i) {
    const SymbolId id =
        check_label(block.indices[i].index, block.indices[i].as_simple, block.indices[i].span, array, i, info);
    if (id == no_symbol) {
      info.ok = false;
      continue;
    }
    const bool simple = block.indices[i].as_simple;
    if (!simple && (symbol(id).index_kind != ast::IndexKind::simple || symbol(id).kind == SymbolKind::subindex))
      info.all_simple = false;
    info.labels.push_back({id, simple});
  }
  if (info.ok && a.contiguous && a.array_kind == ast::ArrayKind::local) {
    std::string ranges;
    for (const Label& label : info.labels)
      ranges += (ranges.empty() ? "" : ",") + symbol(label.index).text + ":" + symbol(label.index).text;
    Diagnostic& d = report(Code::E_REGION_NEEDED, cover(block.array.span, span),
                           fmt::format("`{}` is contiguous: its parts are regions, not blocks", a.text),
                           fmt::format("the region of this block is `{}[{}]`", block.array.text, ranges));
    note(d, array);
    info.ok = false;
  }
  info.array = array;
  if (info.ok && !slices_allowed && !no_sub_block(info, block)) info.ok = false;
  return info;
}

bool Checker::no_sub_block(const BlockInfo& info, const ast::Block& block) {
  if (!info.sub_block) return true;
  const Symbol& a = symbol(info.array);
  for (std::size_t i = 0; i < info.labels.size(); ++i) {
    const Symbol& used = symbol(info.labels[i].index);
    if (used.kind != SymbolKind::subindex || symbol(a.dims[i]).kind == SymbolKind::subindex) continue;
    Diagnostic& d = report(
        Code::E_SLICE, block.indices[i].span,
        fmt::format("`{}` selects a part of a block of `{}`; parts can only be copied out or in", used.text, a.text),
        fmt::format("copy it to an array declared over `{}` first: `s[..] = {}{}`", used.text, a.text,
                    list(info.labels)));
    note(d, info.array);
    return false;
  }
  return true;
}

const BlockInfo& Checker::block_info(const ast::Expr& e) {
  const auto known = blocks_.find(&e);
  if (known != blocks_.end()) return known->second;
  // Whether a part of a block is allowed depends on the statement, which asks no_sub_block() where it is not.
  return blocks_.emplace(&e, check_block(std::get<ast::BlockExpr>(e.node).block, true)).first->second;
}

SymbolId Checker::check_region(const ast::Region& region) {
  const SymbolId array = resolve_array(region.array, "a region belongs to");
  bool ok = array != no_symbol;
  for (const ast::SegRange& range : region.ranges) {
    if (!want_int(*range.lo, "a region's bound is")) ok = false;
    if (!want_int(*range.hi, "a region's bound is")) ok = false;
    const auto* lo = std::get_if<ast::IntLit>(&range.lo->node);
    const auto* hi = std::get_if<ast::IntLit>(&range.hi->node);
    if (lo && hi && lo->value > hi->value) {
      report(Code::E_RANGE_EMPTY, cover(range.lo->span, range.hi->span),
             fmt::format("the range {}:{} is empty", lo->value, hi->value), "the smaller bound comes first");
      ok = false;
    }
  }
  if (array == no_symbol) return no_symbol;
  const Symbol& a = symbol(array);
  if (!a.contiguous || a.array_kind != ast::ArrayKind::local) {
    Diagnostic& d =
        report(Code::E_NOT_CONTIGUOUS, region.array.span,
               fmt::format("ranges select parts of contiguous local arrays, `{}` is {}", a.text, describe(a)),
               "declare it `contiguous local`, or select its blocks by index names");
    note(d, array);
    return no_symbol;
  }
  if (a.dims.size() != region.ranges.size()) {
    Diagnostic& d = report(
        Code::E_RANK, region.array.span,
        fmt::format("`{}` has {} dimension{}, {} range{} given", a.text, a.dims.size(), a.dims.size() == 1 ? "" : "s",
                    region.ranges.size(), region.ranges.size() == 1 ? " is" : "s are"));
    note(d, array);
    return no_symbol;
  }
  return ok ? array : no_symbol;
}

bool Checker::same_shape(SymbolId a, SymbolId b, Span span) {
  const Symbol &x = symbol(a), &y = symbol(b);
  if (x.dims.size() != y.dims.size()) {
    Diagnostic& d = report(
        Code::E_RANK, span,
        fmt::format("`{}` has {} dimensions and `{}` has {}: a region is copied to or from a block of the same rank",
                    x.text, x.dims.size(), y.text, y.dims.size()));
    note(d, a);
    note(d, b);
    return false;
  }
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (symbol(x.dims[i]).index_kind == symbol(y.dims[i]).index_kind) continue;
    Diagnostic& d =
        report(Code::E_KIND, span,
               fmt::format("dimension {} of `{}` is declared with the {} `{}`, that of `{}` with the {} `{}`", i + 1,
                           x.text, index_word(symbol(x.dims[i]).index_kind), symbol(x.dims[i]).text, y.text,
                           index_word(symbol(y.dims[i]).index_kind), symbol(y.dims[i]).text));
    note(d, a);
    note(d, b);
    return false;
  }
  return true;
}

bool Checker::contraction_labels(const BlockInfo& l, const BlockInfo& r, Span span, std::vector<Label>& shared,
                                 std::vector<Label>& free) {
  for (const BlockInfo* side : {&l, &r}) {
    for (std::size_t i = 0; i < side->labels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!(side->labels[i] == side->labels[j])) continue;
        report(Code::E_CONTRACT_DUP, span,
               fmt::format("`{}` occurs twice in `{}{}`: a product sums an index over its two operands, not within one",
                           symbol(side->labels[i].index).text, symbol(side->array).text, list(side->labels)),
               side->all_simple ? "store the element in a scalar first" : "");
        return false;
      }
    }
  }
  const auto contains = [](const std::vector<Label>& labels, const Label& label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  };
  for (const Label& label : l.labels) (contains(r.labels, label) ? shared : free).push_back(label);
  for (const Label& label : r.labels)
    if (!contains(l.labels, label)) free.push_back(label);
  return true;
}

}  // namespace sial::sema
