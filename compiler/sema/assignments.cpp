#include "compiler/sema/assignments.h"

#include <fmt/format.h>

#include "compiler/sema/expression_shape.h"
#include "compiler/sema/fixes.h"
#include "compiler/sema/labels.h"

namespace sial::sema {

namespace {

const char* put_word(const ast::Put& put) { return put.prepare ? "prepare" : "put"; }

}  // namespace

bool Assignments::bounds_an_index(SymbolId id) {
  if (bounding_of_ != context_.program().symbols.size()) {
    bounding_.clear();
    for (const Symbol& s : context_.program().symbols)
      if (s.kind == SymbolKind::index) bounding_.insert({s.lo.symbol, s.hi.symbol});
    bounding_of_ = context_.program().symbols.size();
  }
  return bounding_.contains(id);
}

void Assignments::check(const ast::AssignName& assign) {
  const SymbolId id = context_.resolve(assign.target, {SymbolKind::scalar, SymbolKind::int_});
  if (id == no_symbol) {
    expressions_.infer(*assign.value);
    return;
  }
  const Symbol& target = context_.symbol(id);
  if (target.kind != SymbolKind::scalar && target.kind != SymbolKind::int_) {
    std::string hint;
    if (target.kind == SymbolKind::array) hint = fmt::format("assign to its blocks: `{}[..]`", target.text);
    if (target.kind == SymbolKind::index || target.kind == SymbolKind::subindex)
      hint = "indices get their values from loops";
    Diagnostic& d =
        context_.report(Code::E_LHS, assign.target.span,
                        fmt::format("`{}` is {} and cannot be assigned", assign.target.text, describe(target)), hint);
    context_.note(d, id);
    expressions_.infer(*assign.value);
    return;
  }
  if (target.predefined) {
    const bool bound = bounds_an_index(id);
    Diagnostic& d = context_.report(Code::W_ASSIGN_PREDEF, assign.target.span,
                                    fmt::format("`{}` is predefined; its value comes from the job's data", target.text),
                                    bound ? "it bounds an index range, which keeps the value from the job's data" : "");
    context_.note(d, id);
  }
  if (target.kind == SymbolKind::scalar)
    expressions_.want_scalar(*assign.value, fmt::format("the scalar `{}` needs", target.text));
  else expressions_.want_int(*assign.value, fmt::format("the int `{}` needs", target.text));
}

void Assignments::check(const ast::Stmt& stmt, const ast::AssignBlock& assign) {
  const BlockInfo info = references_.check_block(assign.target, true);
  if (!info.ok) {
    expressions_.infer(*assign.value);
    return;
  }
  const Symbol& array = context_.symbol(info.array);
  if (array.remote()) {
    const bool served = array.array_kind == ast::ArrayKind::served;
    Diagnostic& d = context_.report(
        Code::W_ASSIGN_REMOTE, assign.target.array.span,
        fmt::format("this changes only the worker's own copy of the block; the {} array keeps its value",
                    served ? "served" : "distributed"),
        fmt::format("use `{} {}{} = ..` to change the array", served ? "prepare" : "put", array.text,
                    context_.list(info.labels)));
    if (assign.op == ast::AssignOp::set || assign.op == ast::AssignOp::add)
      d.fix(offered(replace(fmt::format("insert `{}`", served ? "prepare" : "put"),
                            {stmt.span.file, stmt.span.begin, stmt.span.begin}, served ? "prepare " : "put ")));
    context_.note(d, info.array);
  } else if (array.predefined) {
    Diagnostic& d = context_.report(Code::W_ASSIGN_PREDEF, assign.target.array.span,
                                    fmt::format("`{}` is predefined; its values come from the job's data", array.text));
    context_.note(d, info.array);
  }
  AssignInfo form;
  if (forms_.block_form({&info, &assign.target, assign.op, assign.op_span}, *assign.value, form))
    context_.program().assigns[&stmt] = form;
}

void Assignments::check(const ast::Stmt& stmt, const ast::AssignRegion& assign) {
  const SymbolId array = expressions_.check_region(assign.target);
  const ast::Expr& value = *assign.value;
  const Mask mask = expressions_.infer(value);
  if (array == no_symbol || mask == 0) return;
  if (assign.op != ast::AssignOp::set) {
    context_.report(Code::E_REGION_OP, assign.op_span,
                    fmt::format("`{}` is not possible with a region; only `=` is", op_word(assign.op)),
                    "copy the region to a temp block, change that, and copy it back");
    return;
  }
  AssignInfo form;
  if (region_form(array, value, mask, form)) context_.program().assigns[&stmt] = form;
}

bool Assignments::region_form(SymbolId array, const ast::Expr& value, Mask mask, AssignInfo& form) {
  if (is(mask, may_region)) {
    context_.report(Code::E_REGION_OP, value.span, "a region cannot be copied to a region",
                    "copy through a temp block, segment by segment");
    return false;
  }
  const Symbol& a = context_.symbol(array);
  if (is_bare_block(value)) {
    const BlockInfo& info = references_.block_info(value);
    const bool element = is(mask, may_scalar) && context_.symbol(info.array).dims.size() != a.dims.size();
    if (!element) {
      if (!references_.no_sub_block(info, std::get<ast::BlockExpr>(value.node).block) ||
          !references_.same_shape(array, info.array, value.span))
        return false;
      expressions_.choose(value, Type::block);
      form.form = AssignForm::region_put;
      form.left = &std::get<ast::BlockExpr>(value.node).block;
      return true;
    }
  }
  if (!is(mask, may_scalar) && is(mask, may_block)) {
    context_.report(Code::E_BLOCK_EXPR, value.span, "a region is copied from one block",
                    "compute the block in a temp first");
    return false;
  }
  if (!is(mask, may_scalar)) {
    expressions_.report_not_scalar(value, mask, "a region is set to a block or");
    return false;
  }
  expressions_.choose(value, Type::scalar);
  form.form = AssignForm::region_fill;
  form.scalar = &value;
  return true;
}

void Assignments::check(const ast::Stmt& stmt, const ast::Put& put) {
  const BlockInfo info = references_.check_block(put.block);
  const Mask mask = expressions_.infer(*put.value);
  if (!info.ok || !check_put_array(stmt, put, info) || mask == 0 || !check_put_value(put, mask)) return;
  if (const Symbol& array = context_.symbol(info.array); array.predefined) {
    Diagnostic& d = context_.report(Code::W_ASSIGN_PREDEF, put.block.array.span,
                                    fmt::format("`{}` is predefined; its values come from the job's data", array.text));
    context_.note(d, info.array);
  }
  PutInfo result;
  const bool ok = is_bare_block(*put.value) ? put_block(put, info, mask, result) : put_expression(put, info, result);
  if (ok) context_.program().puts[&stmt] = result;
}

bool Assignments::check_put_array(const ast::Stmt& stmt, const ast::Put& put, const BlockInfo& info) {
  const Symbol& array = context_.symbol(info.array);
  if (array.array_kind == (put.prepare ? ast::ArrayKind::served : ast::ArrayKind::distributed)) return true;
  const char* word = put_word(put);
  Diagnostic& d = context_.report(Code::E_ARRAY_KIND, put.block.array.span,
                                  fmt::format("`{}` is for {} arrays, `{}` is {}", word,
                                              put.prepare ? "served" : "distributed", array.text, describe(array)),
                                  array.remote() ? fmt::format("use `{}`", put.prepare ? "put" : "prepare")
                                                 : "assign to it without `" + std::string(word) + "`");
  d.fix(array.remote() ? other_keyword(stmt.span, word, put.prepare ? "put" : "prepare")
                       : without_keyword(stmt.span, word));
  context_.note(d, info.array);
  return false;
}

bool Assignments::check_put_value(const ast::Put& put, Mask mask) {
  const ast::Expr& value = *put.value;
  const char* word = put_word(put);
  if (put.op == ast::AssignOp::subtract ||
      (put.op == ast::AssignOp::multiply && !is(mask, may_scalar) && is(mask, may_block))) {
    Diagnostic& d = context_.report(Code::E_PUT_OP, put.op_span,
                                    fmt::format("`{}` has no `{}`{}", word, op_word(put.op),
                                                put.op == ast::AssignOp::multiply ? " with a block" : ""),
                                    put.op == ast::AssignOp::subtract ? "negate the value (`-1.0 * ..`) and use `+=`"
                                                                      : "blocks can be put with `=` and `+=`");
    if (put.op == ast::AssignOp::subtract && is_bare_block(value))
      d.fix({"add the negative block",
             {{Edit::What::replace, put.op_span, "+="},
              {Edit::What::replace, {value.span.file, value.span.begin, value.span.begin}, "-1.0*"}}});
    return false;
  }
  if (!(mask & (may_block | may_scalar))) {
    if (mask & (may_int | may_index))
      expressions_.report_not_scalar(value, mask, fmt::format("the value of a {} is a block or", word));
    else
      context_.report(Code::E_PUT_RHS, value.span,
                      fmt::format("{} cannot be the value of a {}", expressions_.type_words(value, mask), word),
                      "copy it to a temp block first");
    return false;
  }
  return true;
}

bool Assignments::put_block(const ast::Put& put, const BlockInfo& info, Mask mask, PutInfo& result) {
  const ast::Expr& value = *put.value;
  const BlockInfo& from = references_.block_info(value);
  if (!references_.no_sub_block(from, std::get<ast::BlockExpr>(value.node).block)) return false;
  const bool fits = from.labels == info.labels || trailing_simple(from.labels, info.labels, context_.program().symbols);
  if (fits && put.op != ast::AssignOp::multiply) {
    expressions_.choose(value, Type::block);
    result.form = PutForm::block;
    result.value.form = AssignForm::copy;
    result.value.left = &std::get<ast::BlockExpr>(value.node).block;
  } else if (is(mask, may_scalar)) {
    expressions_.choose(value, Type::scalar);
    result.form = PutForm::scalar;
    result.value.scalar = &value;
  } else {
    Diagnostic& d = context_.report(Code::E_PUT_RHS, value.span,
                                    fmt::format("the block {} does not fit {}: a {} keeps the order of the indices",
                                                context_.list(from.labels), context_.list(info.labels), put_word(put)),
                                    same_set(from.labels, info.labels)
                                        ? fmt::format("copy it to a temp {} first", context_.list(info.labels))
                                        : "");
    context_.note(d, info.array);
    return false;
  }
  return true;
}

bool Assignments::put_expression(const ast::Put& put, const BlockInfo& info, PutInfo& result) {
  const ast::Expr& value = *put.value;
  const Target target{&info, &put.block, ast::AssignOp::set, put.op_span};
  if (!forms_.block_form(target, value, result.value)) return false;
  if (result.value.form == AssignForm::fill) {
    result.form = PutForm::scalar;
  } else if (put.op == ast::AssignOp::multiply) {  // x*v[k]: an element, though it could be a block
    expressions_.choose(value, Type::scalar);
    result.value = AssignInfo{};
    result.value.scalar = &value;
    result.form = PutForm::scalar;
  } else {
    result.form = PutForm::expression;
    result.hidden_temp = hidden_temp(put, info.array);
  }
  return true;
}

// A temp of the array's dimensions, which the program does not see.
SymbolId Assignments::hidden_temp(const ast::Put& put, SymbolId array) {
  Symbol temp;
  temp.id = static_cast<SymbolId>(context_.program().symbols.size());
  temp.kind = SymbolKind::array;
  temp.name = temp.text = fmt::format("{}$put{}", context_.symbol(array).name, temp.id);
  temp.module = context_.module_number();
  temp.span = put.block.array.span;
  temp.array_kind = ast::ArrayKind::temp;
  temp.dims = context_.symbol(array).dims;
  temp.hidden = true;
  context_.program().symbols.push_back(std::move(temp));
  return context_.program().symbols.back().id;
}

}  // namespace sial::sema
