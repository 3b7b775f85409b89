#include "compiler/sema/forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/sema/expression_shape.h"
#include "compiler/sema/fixes.h"
#include "compiler/sema/labels.h"

namespace sial::sema {

bool BlockForms::block_form(const Target& target, const ast::Expr& value, AssignInfo& form) {
  const Mask mask = expressions_.infer(value);
  if (mask == 0) return false;
  if (target.info->sub_block && !is_bare_block(value)) return references_.no_sub_block(*target.info, *target.block);
  if (const auto* region = std::get_if<ast::RegionExpr>(&value.node))
    return region_form(target, value, region->region, form);
  if (is_bare_block(value)) return copy_form(target, value, mask, form);
  if (is(mask, may_block)) {
    if (const auto* binary = std::get_if<ast::Binary>(&value.node)) {
      if (binary->op == ast::BinaryOp::add || binary->op == ast::BinaryOp::subtract)
        return sum_form(target, value, *binary, mask, form);
      if (is(expressions_.infer(*binary->left), may_block) && is(expressions_.infer(*binary->right), may_block))
        return product_form(target, value, *binary, mask, form);
      return scaled_form(target, value, *binary, mask, form);
    }
    if (!is(mask, may_scalar)) {
      Diagnostic& d = context_.report(Code::E_BLOCK_EXPR, value.span, "a block expression is not put in parentheses",
                                      "leave the parentheses out");
      if (std::optional<Fix> fix = without_parentheses(value)) d.fix(std::move(*fix));
      return false;
    }
  }
  return scalar_form(target, value, mask, form);
}

bool BlockForms::scalar_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form) {
  if (!is(mask, may_scalar)) {
    expressions_.report_not_scalar(
        value, mask,
        fmt::format("a block is {} a block or", target.op == ast::AssignOp::set ? "set to" : "combined with"));
    return false;
  }
  expressions_.choose(value, Type::scalar);
  warn_full_contraction(value, target.info->labels);
  form.form = target.op == ast::AssignOp::set        ? AssignForm::fill
              : target.op == ast::AssignOp::multiply ? AssignForm::scale
                                                     : AssignForm::add_scalar;
  form.scalar = &value;
  return true;
}

void BlockForms::warn_full_contraction(const ast::Expr& value, const std::vector<Label>& target) {
  const auto* product = std::get_if<ast::Binary>(&value.node);
  if (!product || product->op != ast::BinaryOp::multiply || !is_bare_block(*product->left) ||
      !is_bare_block(*product->right))
    return;
  const BlockInfo& l = references_.block_info(*product->left);
  if (l.all_simple) return;  // one element times another: the product everybody expects
  context_.report(
      Code::W_FULL_CONTRACTION_FILL, value.span,
      fmt::format(
          "all indices of this product are summed: every element of the block {} becomes one and the same number",
          context_.list(target)),
      same_set(target, l.labels) ? "there is no element-wise product of blocks"
                                 : "assign it to a scalar if that is meant");
}

bool BlockForms::copy_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form) {
  const BlockInfo &to = *target.info, &from = references_.block_info(value);
  if (to.sub_block || from.sub_block) return slice_form(target, value, from, form);
  const bool identical = to.labels == from.labels;
  const auto accept = [&](AssignForm chosen) {
    expressions_.choose(value, Type::block);
    form.form = chosen;
    form.left = &std::get<ast::BlockExpr>(value.node).block;
    return true;
  };
  switch (target.op) {
    case ast::AssignOp::set:
      if (identical || same_set(to.labels, from.labels) ||
          trailing_simple(to.labels, from.labels, context_.program().symbols))
        return accept(AssignForm::copy);
      if (has_repeat(to.labels) && to.labels.size() == from.labels.size() &&
          std::all_of(to.labels.begin(), to.labels.end(),
                      [&](const Label& label) { return contains(from.labels, label); }) &&
          references_.same_shape(to.array, from.array, value.span)) {
        context_.report(
            Code::W_REPEATED_INDEX, target.block->array.span,
            fmt::format("{} names an index twice: the elements of {} are copied in order, without a permutation",
                        context_.list(to.labels), context_.list(from.labels)),
            "name each index once, and use a second index of the same kind where the diagonal is meant");
        return accept(AssignForm::copy);
      }
      break;
    case ast::AssignOp::add:
    case ast::AssignOp::subtract:
      if (identical || same_set(to.labels, from.labels)) return accept(AssignForm::accumulate);
      break;
    case ast::AssignOp::multiply: break;
  }
  if (is(mask, may_scalar)) return scalar_form(target, value, mask, form);
  if (target.op == ast::AssignOp::multiply) {
    context_.report(Code::E_BLOCK_OP, target.op_span, "`*=` scales a block by a scalar, it does not multiply blocks",
                    "there is no element-wise product; a contraction is `c[..] = a[..]*b[..]`");
    return false;
  }
  std::string hint;
  if (target.op != ast::AssignOp::set && trailing_simple(to.labels, from.labels, context_.program().symbols))
    hint = fmt::format("copy the block to a temp with the indices {} first, then use `{}`", context_.list(to.labels),
                       op_word(target.op));
  index_set_error(target, value, from.labels,
                  target.op == ast::AssignOp::set
                      ? "a copy needs the same indices on both sides"
                      : fmt::format("`{}` needs the same indices on both sides", op_word(target.op)),
                  hint);
  return false;
}

bool BlockForms::slice_form(const Target& target, const ast::Expr& value, const BlockInfo& from, AssignInfo& form) {
  const BlockInfo& to = *target.info;
  const ast::Block& source = std::get<ast::BlockExpr>(value.node).block;
  if (to.sub_block && from.sub_block) {
    context_.report(Code::E_SLICE, value.span, "one side of a slice must be declared over the subindex",
                    "copy the part to an array declared over the subindex, then insert that");
    return false;
  }
  const bool slice = from.sub_block;
  const BlockInfo &whole = slice ? from : to, &part = slice ? to : from;
  const Symbol &big = context_.symbol(whole.array), &small = context_.symbol(part.array);
  if (target.op != ast::AssignOp::set) {
    context_.report(Code::E_BLOCK_OP, target.op_span,
                    fmt::format("`{}` is not possible with a part of a block", op_word(target.op)),
                    "copy the part out with `=` first");
    return false;
  }
  for (std::size_t i = 0; i < whole.labels.size(); ++i) {
    const Symbol& used = context_.symbol(whole.labels[i].index);
    const SymbolId declared = big.dims[i];
    if (used.kind != SymbolKind::subindex || context_.symbol(declared).kind == SymbolKind::subindex ||
        used.parent == declared)
      continue;
    Diagnostic& d = context_.report(
        Code::E_SLICE, (slice ? source : *target.block).indices[i].span,
        fmt::format("dimension {} of `{}` is declared over `{}`, `{}` is a subindex of `{}`", i + 1, big.text,
                    context_.symbol(declared).text, used.text, context_.symbol(used.parent).text));
    context_.note(d, whole.array);
    return false;
  }
  std::vector<Label> declared;
  for (const SymbolId dim : small.dims) declared.push_back({dim, false});
  if (part.labels != declared) {
    Diagnostic& d =
        context_.report(Code::E_SLICE, slice ? target.block->array.span : value.span,
                        fmt::format("the small block of a {} is named by its declared indices {}, not {}",
                                    slice ? "slice" : "insert", context_.list(declared), context_.list(part.labels)));
    context_.note(d, part.array);
    return false;
  }
  if (part.labels != whole.labels) {
    index_set_error(target, value, from.labels,
                    "both sides of a slice or insert have the same indices in the same order", {});
    return false;
  }
  expressions_.choose(value, Type::block);
  form.form = slice ? AssignForm::slice : AssignForm::insert;
  form.left = &source;
  return true;
}

namespace {

/// `a[i] -= b[i] - c[i]` as `a[i] -= b[i]` and `a[i] += c[i]`.
Fix two_statements(const Target& target, const ast::Binary& sum) {
  const bool adds = (target.op == ast::AssignOp::add) == (sum.op == ast::BinaryOp::add);
  return {"write two statements",
          {{Edit::What::break_line,
            {sum.left->span.file, sum.left->span.end, sum.right->span.begin},
            fmt::format("{} {} ", text_of(*target.block), adds ? "+=" : "-=")}}};
}

}  // namespace

bool BlockForms::sum_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                          AssignInfo& form) {
  const BlockInfo &l = references_.block_info(*binary.left), &r = references_.block_info(*binary.right);
  const bool scalar = is(mask, may_scalar);
  if (!scalar && (!references_.no_sub_block(l, std::get<ast::BlockExpr>(binary.left->node).block) ||
                  !references_.no_sub_block(r, std::get<ast::BlockExpr>(binary.right->node).block)))
    return false;
  const bool fits = l.labels == r.labels && l.labels == target.info->labels;
  if (target.op != ast::AssignOp::set) {
    if (scalar) return scalar_form(target, value, mask, form);
    Diagnostic& d = context_.report(
        Code::E_BLOCK_OP, target.op_span, fmt::format("`{}` takes one block, not a sum of blocks", op_word(target.op)),
        target.op == ast::AssignOp::multiply
            ? "`*=` takes a scalar"
            : fmt::format("write two statements, one `{}` for each block", op_word(target.op)));
    if (target.op != ast::AssignOp::multiply) d.fix(two_statements(target, binary));
    return false;
  }
  if (!fits) {
    if (scalar) return scalar_form(target, value, mask, form);
    if (l.labels != r.labels) {
      context_.report(
          Code::E_INDEX_SET, value.span,
          fmt::format("a sum of blocks needs the same indices in the same order: {} and {}", context_.list(l.labels),
                      context_.list(r.labels)),
          same_set(l.labels, r.labels) ? "copy the second block to a temp to permute it, or add it with `+=`" : "");
      return false;
    }
    index_set_error(
        target, value, l.labels, "a sum of blocks needs the same indices in the same order on both sides",
        same_set(l.labels, target.info->labels) ? "assign the sum in its own order, then copy it to permute" : "");
    return false;
  }
  expressions_.choose(value, Type::block);
  form.form = binary.op == ast::BinaryOp::add ? AssignForm::sum : AssignForm::difference;
  form.left = &std::get<ast::BlockExpr>(binary.left->node).block;
  form.right = &std::get<ast::BlockExpr>(binary.right->node).block;
  return true;
}

bool BlockForms::product_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                              AssignInfo& form) {
  if (is(mask, may_scalar)) return scalar_form(target, value, mask, form);
  const BlockInfo &l = references_.block_info(*binary.left), &r = references_.block_info(*binary.right);
  const ast::Block &left = std::get<ast::BlockExpr>(binary.left->node).block,
                   &right = std::get<ast::BlockExpr>(binary.right->node).block;
  if (!references_.no_sub_block(l, left) || !references_.no_sub_block(r, right)) return false;
  std::vector<Label> shared, free;
  if (!references_.contraction_labels(l, r, value.span, shared, free)) return false;
  const std::vector<Label>& to = target.info->labels;
  if (target.op == ast::AssignOp::multiply) {
    context_.report(Code::E_BLOCK_OP, target.op_span, "`*=` scales a block by a scalar, it does not multiply blocks",
                    "use `=`, `+=` or `-=`");
    return false;
  }
  if (has_repeat(to)) {
    context_.report(Code::E_CONTRACT_DUP, target.block->array.span,
                    fmt::format("the target {} of a product names an index twice", context_.list(to)),
                    "name every index once");
    return false;
  }
  if (!same_set(to, free)) {
    std::string message = "the indices left of the product are not those of the target";
    if (!shared.empty()) {
      std::string summed;
      for (const Label& label : shared) summed += (summed.empty() ? "" : ",") + context_.symbol(label.index).text;
      message = fmt::format("summing over `{}` does not leave the target's indices", summed);
    }
    const bool element = l.all_simple != r.all_simple;
    index_set_error(target, value, free, std::move(message),
                    element ? fmt::format("to scale by the element of `{}`, store it in a scalar first",
                                          context_.symbol(l.all_simple ? l.array : r.array).text)
                            : "");
    return false;
  }
  if (binary.op == ast::BinaryOp::multiply && shared.empty())
    context_
        .report(Code::W_OUTER_PRODUCT, binary.op_span.file >= 0 ? binary.op_span : value.span,
                "this `*` shares no index: it is an outer product", "`^` says so")
        .fix(replace(binary.op_span, "^"));
  expressions_.choose(value, Type::block);
  form.form = AssignForm::contract;
  form.left = &left;
  form.right = &right;
  return true;
}

bool BlockForms::scaled_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                             AssignInfo& form) {
  const bool block_left = is(expressions_.infer(*binary.left), may_block);
  const ast::Expr &block = block_left ? *binary.left : *binary.right,
                  &factor = block_left ? *binary.right : *binary.left;
  const BlockInfo& info = references_.block_info(block);
  if (target.op != ast::AssignOp::multiply && info.labels == target.info->labels) {
    if (!references_.no_sub_block(info, std::get<ast::BlockExpr>(block.node).block)) return false;
    expressions_.choose(value, Type::block);
    form.form = target.op == ast::AssignOp::set ? AssignForm::scaled_copy : AssignForm::scaled_accumulate;
    form.left = &std::get<ast::BlockExpr>(block.node).block;
    form.scalar = &factor;
    return true;
  }
  if (is(mask, may_scalar)) return scalar_form(target, value, mask, form);
  if (target.op == ast::AssignOp::multiply) {
    context_.report(Code::E_BLOCK_OP, target.op_span, "`*=` scales a block by a scalar, it does not multiply blocks");
    return false;
  }
  index_set_error(
      target, value, info.labels, "a scaled block needs the same indices in the same order on both sides",
      same_set(info.labels, target.info->labels) ? "copy the block to permute it, then scale with `*=`" : "");
  return false;
}

bool BlockForms::region_form(const Target& target, const ast::Expr& value, const ast::Region& region,
                             AssignInfo& form) {
  const SymbolId array = context_.program().names.at(&region.array);
  if (target.op != ast::AssignOp::set) {
    context_.report(Code::E_REGION_OP, target.op_span,
                    fmt::format("`{}` is not possible with a region", op_word(target.op)),
                    "copy the region to a temp block with `=` first");
    return false;
  }
  if (!references_.same_shape(target.info->array, array, value.span)) return false;
  expressions_.choose(value, Type::region);
  form.form = AssignForm::region_get;
  form.region = &region;
  return true;
}

void BlockForms::index_set_error(const Target& target, const ast::Expr& value, const std::vector<Label>& found,
                                 std::string message, std::string hint) {
  const std::vector<Label>& left = target.info->labels;
  std::vector<Label> extra, missing;
  for (const Label& label : found)
    if (!contains(left, label) && !contains(extra, label)) extra.push_back(label);
  for (const Label& label : left)
    if (!contains(found, label) && !contains(missing, label)) missing.push_back(label);
  message += fmt::format(": left {}, right {}", context_.list(left), context_.list(found));
  if (!extra.empty())
    message += fmt::format("; `{}` does not appear on the left", context_.symbol(extra.front().index).text);
  else if (!missing.empty())
    message += fmt::format("; `{}` does not appear on the right", context_.symbol(missing.front().index).text);
  if (hint.empty() && extra.size() == 1 && missing.size() == 1 &&
      context_.symbol(extra.front().index).index_kind == context_.symbol(missing.front().index).index_kind)
    hint = fmt::format("did you mean `{}`?", context_.symbol(missing.front().index).text);
  Diagnostic& d = context_.report(Code::E_INDEX_SET, value.span, std::move(message), std::move(hint));
  context_.note(d, target.info->array);
}

}  // namespace sial::sema
