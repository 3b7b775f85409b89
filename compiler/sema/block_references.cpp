#include "compiler/sema/block_references.h"

#include <fmt/format.h>

#include "compiler/sema/fixes.h"
#include "compiler/sema/labels.h"

namespace sial::sema {

SymbolId BlockReferences::check_label(const ast::Name& name, bool as_simple, Span span, SymbolId array,
                                      std::size_t dimension, BlockInfo& info) {
  const SymbolId id = context_.resolve(name, {SymbolKind::index, SymbolKind::subindex});
  if (id == no_symbol) return no_symbol;
  const Symbol& used = context_.symbol(id);
  if (used.kind != SymbolKind::index && used.kind != SymbolKind::subindex) {
    Diagnostic& d = context_.report(
        Code::E_NOT_INDEX, span, fmt::format("a block is selected by indices, `{}` is {}", name.text, describe(used)),
        used.kind == SymbolKind::int_ ? "loop over an index with the range wanted" : "");
    context_.note(d, id);
    return no_symbol;
  }
  if (as_simple && used.kind == SymbolKind::subindex) {
    Diagnostic& d = context_.report(Code::E_SUBINDEX_VALUE, span,
                                    fmt::format("the subindex `{}` has no number to select with", used.text));
    context_.note(d, id);
    return no_symbol;
  }
  const Symbol& declared = context_.symbol(context_.symbol(array).dims[dimension]);
  const ast::IndexKind kind = as_simple ? ast::IndexKind::simple : used.index_kind;
  if (kind != declared.index_kind) {
    std::string hint;
    if (declared.index_kind == ast::IndexKind::simple)
      hint = fmt::format("`(index){}` selects by the segment number", used.text);
    else hint = fmt::format("{} is needed here, like `{}`", an_index_word(declared.index_kind), declared.text);
    Diagnostic& d =
        context_.report(Code::E_KIND, span,
                        fmt::format("dimension {} of `{}` is declared with the {} `{}`, but `{}` is {}", dimension + 1,
                                    context_.symbol(array).text, index_word(declared.index_kind), declared.text,
                                    name.text, as_simple ? "used as a simple index" : describe(used)),
                        hint);
    if (declared.index_kind == ast::IndexKind::simple && used.kind == SymbolKind::index)
      d.fix(offered(replace(span, "(index)" + name.text)));
    context_.note(d, array);
    return no_symbol;
  }
  if (declared.kind == SymbolKind::subindex && used.kind != SymbolKind::subindex) {
    Diagnostic& d = context_.report(
        Code::E_SLICE, span,
        fmt::format("dimension {} of `{}` is divided into subsegments by `{}`, `{}` selects whole segments",
                    dimension + 1, context_.symbol(array).text, declared.text, used.text),
        fmt::format("use `{}` inside `do {} in {}`", declared.text, declared.text,
                    context_.symbol(declared.parent).text));
    context_.note(d, array);
    return no_symbol;
  }
  if (used.kind == SymbolKind::subindex && declared.kind == SymbolKind::index) info.sub_block = true;
  walk_.use_index(name, id);
  return id;
}

BlockInfo BlockReferences::check_block(const ast::Block& block, bool slices_allowed) {
  BlockInfo info;
  const SymbolId array = context_.resolve_array(block.array, "a block belongs to");
  if (array == no_symbol) {
    for (const ast::BlockIndex& index : block.indices)
      context_.resolve(index.index, {SymbolKind::index, SymbolKind::subindex});
    return info;
  }
  const Symbol& a = context_.symbol(array);
  const Span span =
      block.indices.empty() ? block.array.span : cover(block.indices.front().span, block.indices.back().span);
  if (a.dims.size() != block.indices.size()) {
    Diagnostic& d = context_.report(
        Code::E_RANK, span,
        fmt::format("`{}` has {} dimension{}, {} ind{} given", a.text, a.dims.size(), a.dims.size() == 1 ? "" : "s",
                    block.indices.size(), block.indices.size() == 1 ? "ex is" : "ices are"));
    context_.note(d, array);
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
    if (!simple &&
        (context_.symbol(id).index_kind != ast::IndexKind::simple || context_.symbol(id).kind == SymbolKind::subindex))
      info.all_simple = false;
    info.labels.push_back({id, simple});
  }
  if (info.ok && a.contiguous && a.array_kind == ast::ArrayKind::local) {
    std::string ranges;
    for (const Label& label : info.labels)
      ranges +=
          (ranges.empty() ? "" : ",") + context_.symbol(label.index).text + ":" + context_.symbol(label.index).text;
    Diagnostic& d = context_.report(Code::E_REGION_NEEDED, cover(block.array.span, span),
                                    fmt::format("`{}` is contiguous: its parts are regions, not blocks", a.text),
                                    fmt::format("the region of this block is `{}[{}]`", block.array.text, ranges));
    d.fix(replace(span, ranges));
    context_.note(d, array);
    info.ok = false;
  }
  info.array = array;
  if (info.ok && !slices_allowed && !no_sub_block(info, block)) info.ok = false;
  return info;
}

bool BlockReferences::no_sub_block(const BlockInfo& info, const ast::Block& block) {
  if (!info.sub_block) return true;
  const Symbol& a = context_.symbol(info.array);
  for (std::size_t i = 0; i < info.labels.size(); ++i) {
    const Symbol& used = context_.symbol(info.labels[i].index);
    if (used.kind != SymbolKind::subindex || context_.symbol(a.dims[i]).kind == SymbolKind::subindex) continue;
    Diagnostic& d = context_.report(
        Code::E_SLICE, block.indices[i].span,
        fmt::format("`{}` selects a part of a block of `{}`; parts can only be copied out or in", used.text, a.text),
        fmt::format("copy it to an array declared over `{}` first: `s[..] = {}{}`", used.text, a.text,
                    context_.list(info.labels)));
    context_.note(d, info.array);
    return false;
  }
  return true;
}

const BlockInfo& BlockReferences::block_info(const ast::Expr& e) {
  const auto known = blocks_.find(&e);
  if (known != blocks_.end()) return known->second;
  // Whether a part of a block is allowed depends on the statement, which asks no_sub_block() where it is not.
  return blocks_.emplace(&e, check_block(std::get<ast::BlockExpr>(e.node).block, true)).first->second;
}

bool BlockReferences::same_shape(SymbolId a, SymbolId b, Span span) {
  const Symbol &x = context_.symbol(a), &y = context_.symbol(b);
  if (x.dims.size() != y.dims.size()) {
    Diagnostic& d = context_.report(
        Code::E_RANK, span,
        fmt::format("`{}` has {} dimensions and `{}` has {}: a region is copied to or from a block of the same rank",
                    x.text, x.dims.size(), y.text, y.dims.size()));
    context_.note(d, a);
    context_.note(d, b);
    return false;
  }
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (context_.symbol(x.dims[i]).index_kind == context_.symbol(y.dims[i]).index_kind) continue;
    Diagnostic& d = context_.report(
        Code::E_KIND, span,
        fmt::format("dimension {} of `{}` is declared with the {} `{}`, that of `{}` with the {} `{}`", i + 1, x.text,
                    index_word(context_.symbol(x.dims[i]).index_kind), context_.symbol(x.dims[i]).text, y.text,
                    index_word(context_.symbol(y.dims[i]).index_kind), context_.symbol(y.dims[i]).text));
    context_.note(d, a);
    context_.note(d, b);
    return false;
  }
  return true;
}

bool BlockReferences::contraction_labels(const BlockInfo& l, const BlockInfo& r, Span span, std::vector<Label>& shared,
                                         std::vector<Label>& free) {
  for (const BlockInfo* side : {&l, &r}) {
    for (std::size_t i = 0; i < side->labels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!(side->labels[i] == side->labels[j])) continue;
        context_.report(
            Code::E_CONTRACT_DUP, span,
            fmt::format("`{}` occurs twice in `{}{}`: a product sums an index over its two operands, not within one",
                        context_.symbol(side->labels[i].index).text, context_.symbol(side->array).text,
                        context_.list(side->labels)),
            side->all_simple ? "store the element in a scalar first" : "");
        return false;
      }
    }
  }
  for (const Label& label : l.labels) (contains(r.labels, label) ? shared : free).push_back(label);
  for (const Label& label : r.labels)
    if (!contains(l.labels, label)) free.push_back(label);
  return true;
}

}  // namespace sial::sema
