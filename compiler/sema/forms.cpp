#include <fmt/format.h>

#include <algorithm>

#include "compiler/sema/checker.h"
#include "compiler/sema/near.h"

namespace sial::sema {

namespace {

bool contains(const std::vector<Label>& labels, const Label& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool has_repeat(const std::vector<Label>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (labels[i] == labels[j]) return true;
  return false;
}

bool same_set(const std::vector<Label>& a, const std::vector<Label>& b) {
  return a.size() == b.size() && !has_repeat(a) && !has_repeat(b) &&
         std::all_of(a.begin(), a.end(), [&](const Label& label) { return contains(b, label); });
}

// Whether extra labels at the end of the longer list are all simple and the rest agrees in order.
bool trailing_simple(const std::vector<Label>& a, const std::vector<Label>& b, const std::vector<Symbol>& symbols) {
  const std::vector<Label>&longer = a.size() > b.size() ? a : b, &shorter = a.size() > b.size() ? b : a;
  if (!std::equal(shorter.begin(), shorter.end(), longer.begin())) return false;
  return std::all_of(longer.begin() + static_cast<std::ptrdiff_t>(shorter.size()), longer.end(),
                     [&](const Label& label) {
                       const Symbol& s = symbols[static_cast<std::size_t>(label.index)];
                       return label.simple || (s.kind == SymbolKind::index && s.index_kind == ast::IndexKind::simple);
                     });
}

}  // namespace

void Checker::index_set_error(const Target& target, const ast::Expr& value, const std::vector<Label>& found,
                              std::string message, std::string hint) {
  const std::vector<Label>& left = target.info->labels;
  std::vector<Label> extra, missing;
  for (const Label& label : found)
    if (!contains(left, label) && !contains(extra, label)) extra.push_back(label);
  for (const Label& label : left)
    if (!contains(found, label) && !contains(missing, label)) missing.push_back(label);
  message += fmt::format(": left {}, right {}", list(left), list(found));
  if (!extra.empty()) message += fmt::format("; `{}` does not appear on the left", symbol(extra.front().index).text);
  else if (!missing.empty())
    message += fmt::format("; `{}` does not appear on the right", symbol(missing.front().index).text);
  if (hint.empty() && extra.size() == 1 && missing.size() == 1 &&
      symbol(extra.front().index).index_kind == symbol(missing.front().index).index_kind)
    hint = fmt::format("did you mean `{}`?", symbol(missing.front().index).text);
  Diagnostic& d = report(Code::E_INDEX_SET, value.span, std::move(message), std::move(hint));
  note(d, target.info->array);
}

bool Checker::scalar_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form) {
  if (!is(mask, may_scalar)) {
    report_not_scalar(
        value, mask,
        fmt::format("a block is {} a block or", target.op == ast::AssignOp::set ? "set to" : "combined with"));
    return false;
  }
  choose(value, Type::scalar);
  warn_full_contraction(value, target.info->labels);
  form.form = target.op == ast::AssignOp::set        ? AssignForm::fill
              : target.op == ast::AssignOp::multiply ? AssignForm::scale
                                                     : AssignForm::add_scalar;
  form.scalar = &value;
  return true;
}

void Checker::warn_full_contraction(const ast::Expr& value, const std::vector<Label>& target) {
  const auto* product = std::get_if<ast::Binary>(&value.node);
  if (!product || product->op != ast::BinaryOp::multiply || !is_bare_block(*product->left) ||
      !is_bare_block(*product->right))
    return;
  const BlockInfo& l = block_info(*product->left);
  if (l.all_simple) return;  // one element times another: the product everybody expects
  report(Code::W_FULL_CONTRACTION_FILL, value.span,
         fmt::format(
             "all indices of this product are summed: every element of the block {} becomes one and the same number",
             list(target)),
         same_set(target, l.labels) ? "there is no element-wise product of blocks"
                                    : "assign it to a scalar if that is meant");
}

bool Checker::slice_form(const Target& target, const ast::Expr& value, const BlockInfo& from, AssignInfo& form) {
  const BlockInfo& to = *target.info;
  const ast::Block& source = std::get<ast::BlockExpr>(value.node).block;
  if (to.sub_block && from.sub_block) {
    report(Code::E_SLICE, value.span, "one side of a slice must be declared over the subindex",
           "copy the part to an array declared over the subindex, then insert that");
    return false;
  }
  const bool slice = from.sub_block;
  const BlockInfo &whole = slice ? from : to, &part = slice ? to : from;
  const Symbol &big = symbol(whole.array), &small = symbol(part.array);
  if (target.op != ast::AssignOp::set) {
    report(Code::E_BLOCK_OP, target.op_span,
           fmt::format("`{}` is not possible with a part of a block", op_word(target.op)),
           "copy the part out with `=` first");
    return false;
  }
  for (std::size_t i = 0; i < whole.labels.size(); ++i) {
    const Symbol& used = symbol(whole.labels[i].index);
    const SymbolId declared = big.dims[i];
    if (used.kind != SymbolKind::subindex || symbol(declared).kind == SymbolKind::subindex || used.parent == declared)
      continue;
    Diagnostic& d = report(Code::E_SLICE, (slice ? source : *target.block).indices[i].span,
                           fmt::format("dimension {} of `{}` is declared over `{}`, `{}` is a subindex of `{}`", i + 1,
                                       big.text, symbol(declared).text, used.text, symbol(used.parent).text));
    note(d, whole.array);
    return false;
  }
  std::vector<Label> declared;
  for (const SymbolId dim : small.dims) declared.push_back({dim, false});
  if (part.labels != declared) {
    Diagnostic& d = report(Code::E_SLICE, slice ? target.block->array.span : value.span,
                           fmt::format("the small block of a {} is named by its declared indices {}, not {}",
                                       slice ? "slice" : "insert", list(declared), list(part.labels)));
    note(d, part.array);
    return false;
  }
  if (part.labels != whole.labels) {
    index_set_error(target, value, from.labels,
                    "both sides of a slice or insert have the same indices in the same order", {});
    return false;
  }
  choose(value, Type::block);
  form.form = slice ? AssignForm::slice : AssignForm::insert;
  form.left = &source;
  return true;
}

bool Checker::copy_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form) {
  const BlockInfo &to = *target.info, &from = block_info(value);
  if (to.sub_block || from.sub_block) return slice_form(target, value, from, form);
  const bool identical = to.labels == from.labels;
  const auto accept = [&](AssignForm chosen) {
    choose(value, Type::block);
    form.form = chosen;
    form.left = &std::get<ast::BlockExpr>(value.node).block;
    return true;
  };
  switch (target.op) {
    case ast::AssignOp::set:
      if (identical || same_set(to.labels, from.labels) || trailing_simple(to.labels, from.labels, program_.symbols))
        return accept(AssignForm::copy);
      if (has_repeat(to.labels) && to.labels.size() == from.labels.size() &&
          std::all_of(to.labels.begin(), to.labels.end(),
                      [&](const Label& label) { return contains(from.labels, label); }) &&
          same_shape(to.array, from.array, value.span)) {
        report(Code::W_REPEATED_INDEX, target.block->array.span,
               fmt::format("{} names an index twice: the elements of {} are copied in order, without a permutation",
                           list(to.labels), list(from.labels)),
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
    report(Code::E_BLOCK_OP, target.op_span, "`*=` scales a block by a scalar, it does not multiply blocks",
           "there is no element-wise product; a contraction is `c[..] = a[..]*b[..]`");
    return false;
  }
  std::string hint;
  if (target.op != ast::AssignOp::set && trailing_simple(to.labels, from.labels, program_.symbols))
    hint = fmt::format("copy the block to a temp with the indices {} first, then use `{}`", list(to.labels),
                       op_word(target.op));
  index_set_error(target, value, from.labels,
                  target.op == ast::AssignOp::set
                      ? "a copy needs the same indices on both sides"
                      : fmt::format("`{}` needs the same indices on both sides", op_word(target.op)),
                  hint);
  return false;
}

bool Checker::sum_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                       AssignInfo& form) {
  const BlockInfo &l = block_info(*binary.left), &r = block_info(*binary.right);
  const bool scalar = is(mask, may_scalar);
  if (!scalar && (!no_sub_block(l, std::get<ast::BlockExpr>(binary.left->node).block) ||
                  !no_sub_block(r, std::get<ast::BlockExpr>(binary.right->node).block)))
    return false;
  const bool fits = l.labels == r.labels && l.labels == target.info->labels;
  if (target.op != ast::AssignOp::set) {
    if (scalar) return scalar_form(target, value, mask, form);
    report(Code::E_BLOCK_OP, target.op_span,
           fmt::format("`{}` takes one block, not a sum of blocks", op_word(target.op)),
           target.op == ast::AssignOp::multiply
               ? "`*=` takes a scalar"
               : fmt::format("write two statements, one `{}` for each block", op_word(target.op)));
    return false;
  }
  if (!fits) {
    if (scalar) return scalar_form(target, value, mask, form);
    if (l.labels != r.labels) {
      report(Code::E_INDEX_SET, value.span,
             fmt::format("a sum of blocks needs the same indices in the same order: {} and {}", list(l.labels),
                         list(r.labels)),
             same_set(l.labels, r.labels) ? "copy the second block to a temp to permute it, or add it with `+=`" : "");
      return false;
    }
    index_set_error(
        target, value, l.labels, "a sum of blocks needs the same indices in the same order on both sides",
        same_set(l.labels, target.info->labels) ? "assign the sum in its own order, then copy it to permute" : "");
    return false;
  }
  choose(value, Type::block);
  form.form = binary.op == ast::BinaryOp::add ? AssignForm::sum : AssignForm::difference;
  form.left = &std::get<ast::BlockExpr>(binary.left->node).block;
  form.right = &std::get<ast::BlockExpr>(binary.right->node).block;
  return true;
}

bool Checker::product_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                           AssignInfo& form) {
  if (is(mask, may_scalar)) return scalar_form(target, value, mask, form);
  const BlockInfo &l = block_info(*binary.left), &r = block_info(*binary.right);
  const ast::Block &left = std::get<ast::BlockExpr>(binary.left->node).block,
                   &right = std::get<ast::BlockExpr>(binary.right->node).block;
  if (!no_sub_block(l, left) || !no_sub_block(r, right)) return false;
  std::vector<Label> shared, free;
  if (!contraction_labels(l, r, value.span, shared, free)) return false;
  const std::vector<Label>& to = target.info->labels;
  if (target.op == ast::AssignOp::multiply) {
    report(Code::E_BLOCK_OP, target.op_span, "`*=` scales a block by a scalar, it does not multiply blocks",
           "use `=`, `+=` or `-=`");
    return false;
  }
  if (has_repeat(to)) {
    report(Code::E_CONTRACT_DUP, target.block->array.span,
           fmt::format("the target {} of a product names an index twice", list(to)), "name every index once");
    return false;
  }
  if (!same_set(to, free)) {
    std::string message = "the indices left of the product are not those of the target";
    if (!shared.empty()) {
      std::string summed;
      for (const Label& label : shared) summed += (summed.empty() ? "" : ",") + symbol(label.index).text;
      message = fmt::format("summing over `{}` does not leave the target's indices", summed);
    }
    const bool element = l.all_simple != r.all_simple;
    index_set_error(target, value, free, std::move(message),
                    element ? fmt::format("to scale by the element of `{}`, store it in a scalar first",
                                          symbol(l.all_simple ? l.array : r.array).text)
                            : "");
    return false;
  }
  if (binary.op == ast::BinaryOp::multiply && shared.empty())
    report(Code::W_OUTER_PRODUCT, binary.op_span.file >= 0 ? binary.op_span : value.span,
           "this `*` shares no index: it is an outer product", "`^` says so");
  choose(value, Type::block);
  form.form = AssignForm::contract;
  form.left = &left;
  form.right = &right;
  return true;
}

bool Checker::scaled_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                          AssignInfo& form) {
  const bool block_left = is(infer(*binary.left), may_block);
  const ast::Expr &block = block_left ? *binary.left : *binary.right,
                  &factor = block_left ? *binary.right : *binary.left;
  const BlockInfo& info = block_info(block);
  if (target.op != ast::AssignOp::multiply && info.labels == target.info->labels) {
    if (!no_sub_block(info, std::get<ast::BlockExpr>(block.node).block)) return false;
    choose(value, Type::block);
    form.form = target.op == ast::AssignOp::set ? AssignForm::scaled_copy : AssignForm::scaled_accumulate;
    form.left = &std::get<ast::BlockExpr>(block.node).block;
    form.scalar = &factor;
    return true;
  }
  if (is(mask, may_scalar)) return scalar_form(target, value, mask, form);
  if (target.op == ast::AssignOp::multiply) {
    report(Code::E_BLOCK_OP, target.op_span, "`*=` scales a block by a scalar, it does not multiply blocks");
    return false;
  }
  index_set_error(
      target, value, info.labels, "a scaled block needs the same indices in the same order on both sides",
      same_set(info.labels, target.info->labels) ? "copy the block to permute it, then scale with `*=`" : "");
  return false;
}

bool Checker::region_form(const Target& target, const ast::Expr& value, const ast::Region& region, AssignInfo& form) {
  const SymbolId array = program_.names.at(&region.array);
  if (target.op != ast::AssignOp::set) {
    report(Code::E_REGION_OP, target.op_span, fmt::format("`{}` is not possible with a region", op_word(target.op)),
           "copy the region to a temp block with `=` first");
    return false;
  }
  if (!same_shape(target.info->array, array, value.span)) return false;
  choose(value, Type::region);
  form.form = AssignForm::region_get;
  form.region = &region;
  return true;
}

bool Checker::block_form(const Target& target, const ast::Expr& value, AssignInfo& form) {
  const Mask mask = infer(value);
  if (mask == 0) return false;
  if (target.info->sub_block && !is_bare_block(value)) return no_sub_block(*target.info, *target.block);
  if (const auto* region = std::get_if<ast::RegionExpr>(&value.node))
    return region_form(target, value, region->region, form);
  if (is_bare_block(value)) return copy_form(target, value, mask, form);
  if (is(mask, may_block)) {
    if (const auto* binary = std::get_if<ast::Binary>(&value.node)) {
      if (binary->op == ast::BinaryOp::add || binary->op == ast::BinaryOp::subtract)
        return sum_form(target, value, *binary, mask, form);
      if (is(infer(*binary->left), may_block) && is(infer(*binary->right), may_block))
        return product_form(target, value, *binary, mask, form);
      return scaled_form(target, value, *binary, mask, form);
    }
    if (!is(mask, may_scalar)) {
      report(Code::E_BLOCK_EXPR, value.span, "a block expression is not put in parentheses",
             "leave the parentheses out");
      return false;
    }
  }
  return scalar_form(target, value, mask, form);
}

void Checker::assign_block(const ast::Stmt& stmt, const ast::AssignBlock& assign) {
  const BlockInfo info = check_block(assign.target, true);
  if (!info.ok) {
    infer(*assign.value);
    return;
  }
  const Symbol& array = symbol(info.array);
  if (array.remote()) {
    const bool served = array.array_kind == ast::ArrayKind::served;
    Diagnostic& d =
        report(Code::W_ASSIGN_REMOTE, assign.target.array.span,
               fmt::format("this changes only the worker's own copy of the block; the {} array keeps its value",
                           served ? "served" : "distributed"),
               fmt::format("use `{} {}{} = ..` to change the array", served ? "prepare" : "put", array.text,
                           list(info.labels)));
    note(d, info.array);
  } else if (array.predefined) {
    Diagnostic& d = report(Code::W_ASSIGN_PREDEF, assign.target.array.span,
                           fmt::format("`{}` is predefined; its values come from the job's data", array.text));
    note(d, info.array);
  }
  AssignInfo form;
  if (block_form({&info, &assign.target, assign.op, assign.op_span}, *assign.value, form))
    program_.assigns[&stmt] = form;
}

void Checker::assign_region(const ast::Stmt& stmt, const ast::AssignRegion& assign) {
  const SymbolId array = check_region(assign.target);
  const ast::Expr& value = *assign.value;
  const Mask mask = infer(value);
  if (array == no_symbol || mask == 0) return;
  if (assign.op != ast::AssignOp::set) {
    report(Code::E_REGION_OP, assign.op_span,
           fmt::format("`{}` is not possible with a region; only `=` is", op_word(assign.op)),
           "copy the region to a temp block, change that, and copy it back");
    return;
  }
  AssignInfo form;
  if (is(mask, may_region)) {
    report(Code::E_REGION_OP, value.span, "a region cannot be copied to a region",
           "copy through a temp block, segment by segment");
    return;
  }
  const Symbol& a = symbol(array);
  if (is_bare_block(value)) {
    const BlockInfo& info = block_info(value);
    const bool element = is(mask, may_scalar) && symbol(info.array).dims.size() != a.dims.size();
    if (!element) {
      if (!no_sub_block(info, std::get<ast::BlockExpr>(value.node).block) || !same_shape(array, info.array, value.span))
        return;
      choose(value, Type::block);
      form.form = AssignForm::region_put;
      form.left = &std::get<ast::BlockExpr>(value.node).block;
      program_.assigns[&stmt] = form;
      return;
    }
  }
  if (!is(mask, may_scalar) && is(mask, may_block)) {
    report(Code::E_BLOCK_EXPR, value.span, "a region is copied from one block", "compute the block in a temp first");
    return;
  }
  if (!is(mask, may_scalar)) {
    report_not_scalar(value, mask, "a region is set to a block or");
    return;
  }
  choose(value, Type::scalar);
  form.form = AssignForm::region_fill;
  form.scalar = &value;
  program_.assigns[&stmt] = form;
}

void Checker::check_put(const ast::Stmt& stmt, const ast::Put& put) {
  const char* word = put.prepare ? "prepare" : "put";
  const BlockInfo info = check_block(put.block);
  const ast::Expr& value = *put.value;
  const Mask mask = infer(value);
  if (!info.ok) return;
  const Symbol array = symbol(info.array);  // a copy: a hidden temp may be added below
  const ast::ArrayKind wanted = put.prepare ? ast::ArrayKind::served : ast::ArrayKind::distributed;
  if (array.array_kind != wanted) {
    Diagnostic& d = report(Code::E_ARRAY_KIND, put.block.array.span,
                           fmt::format("`{}` is for {} arrays, `{}` is {}", word,
                                       put.prepare ? "served" : "distributed", array.text, describe(array)),
                           array.remote() ? fmt::format("use `{}`", put.prepare ? "put" : "prepare")
                                          : "assign to it without `" + std::string(word) + "`");
    note(d, info.array);
    return;
  }
  if (mask == 0) return;
  if (put.op == ast::AssignOp::subtract ||
      (put.op == ast::AssignOp::multiply && !is(mask, may_scalar) && is(mask, may_block))) {
    report(Code::E_PUT_OP, put.op_span,
           fmt::format("`{}` has no `{}`{}", word, op_word(put.op),
                       put.op == ast::AssignOp::multiply ? " with a block" : ""),
           put.op == ast::AssignOp::subtract ? "negate the value (`-1.0 * ..`) and use `+=`"
                                             : "blocks can be put with `=` and `+=`");
    return;
  }
  if (!(mask & (may_block | may_scalar))) {
    if (mask & (may_int | may_index))
      report_not_scalar(value, mask, fmt::format("the value of a {} is a block or", word));
    else
      report(Code::E_PUT_RHS, value.span, fmt::format("{} cannot be the value of a {}", type_words(value, mask), word),
             "copy it to a temp block first");
    return;
  }
  PutInfo result;
  if (is_bare_block(value)) {
    const BlockInfo& from = block_info(value);
    if (!no_sub_block(from, std::get<ast::BlockExpr>(value.node).block)) return;
    const bool fits = from.labels == info.labels || trailing_simple(from.labels, info.labels, program_.symbols);
    if (fits && put.op != ast::AssignOp::multiply) {
      choose(value, Type::block);
      result.form = PutForm::block;
      result.value.form = AssignForm::copy;
      result.value.left = &std::get<ast::BlockExpr>(value.node).block;
    } else if (is(mask, may_scalar)) {
      choose(value, Type::scalar);
      result.form = PutForm::scalar;
      result.value.scalar = &value;
    } else {
      Diagnostic& d = report(
          Code::E_PUT_RHS, value.span,
          fmt::format("the block {} does not fit {}: a {} keeps the order of the indices", list(from.labels),
                      list(info.labels), word),
          same_set(from.labels, info.labels) ? fmt::format("copy it to a temp {} first", list(info.labels)) : "");
      note(d, info.array);
      return;
    }
  } else {
    const Target target{&info, &put.block, ast::AssignOp::set, put.op_span};
    if (!block_form(target, value, result.value)) return;
    if (result.value.form == AssignForm::fill) {
      result.form = PutForm::scalar;
    } else if (put.op == ast::AssignOp::multiply) {  // x*v[k]: an element, though it could be a block
      choose(value, Type::scalar);
      result.value = AssignInfo{};
      result.value.scalar = &value;
      result.form = PutForm::scalar;
    } else {
      result.form = PutForm::expression;
      Symbol temp;
      temp.id = static_cast<SymbolId>(program_.symbols.size());
      temp.kind = SymbolKind::array;
      temp.name = temp.text = fmt::format("{}$put{}", array.name, temp.id);
      temp.module = module_;
      temp.span = put.block.array.span;
      temp.array_kind = ast::ArrayKind::temp;
      temp.dims = array.dims;
      temp.hidden = true;
      result.hidden_temp = temp.id;
      program_.symbols.push_back(std::move(temp));
    }
  }
  program_.puts[&stmt] = result;
}

}  // namespace sial::sema
