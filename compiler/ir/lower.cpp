#include "compiler/ir/lower.h"

#include "runtime/core/base/check.h"

namespace sial::ir {
namespace {

SetOp setop(ast::AssignOp op) {
  switch (op) {
    case ast::AssignOp::set: return SetOp::assign;
    case ast::AssignOp::add: return SetOp::add;
    case ast::AssignOp::subtract: return SetOp::subtract;
    case ast::AssignOp::multiply: break;
  }
  return SetOp::scale;
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

Lowering::Lowering(const CheckedProgram& checked, const SourceManager& sources, Program& program,
                   const RowOfSymbol& rows)
    : checked_(checked),
      sources_(sources),
      program_(program),
      rows_(rows),
      int_top_(static_cast<std::int32_t>(program.ints.size())),
      scalar_top_(static_cast<std::int32_t>(program.scalars.size())) {}

SourcePlace Lowering::place(Span span) const {
  const LineColumn p = sources_.position(span.file, span.begin);
  return {span.file, p.line, p.column};
}

// The place of the closing keyword of a bracketed region.
SourcePlace Lowering::last_line(Span span) const {
  const LineColumn p = sources_.position(span.file, span.end > span.begin ? span.end - 1 : span.begin);
  const std::size_t blanks = sources_.line_text(span.file, p.line).find_first_not_of(" \t\f");
  return {span.file, p.line, blanks == std::string_view::npos ? 1 : static_cast<std::int32_t>(blanks) + 1};
}

Node& Lowering::node(Body& out, SourcePlace place) {
  Node& n = out.emplace_back();
  n.id = program_.n_nodes++;
  n.place = place;
  return n;
}

void Lowering::emit(Body& out, Opcode op, std::vector<Operand> operands) {
  node(out, here_).value = Instr{op, std::move(operands)};
}

Body Lowering::body(const ast::Body& statements) {
  Body out;
  append(statements, out);
  return out;
}

void Lowering::append(const ast::Body& statements, Body& out) {
  for (const ast::StmtPtr& s : statements) {
    const std::int32_t ints = int_top_, scalars = scalar_top_;
    here_ = place(s->span);
    statement(*s, out);
    int_top_ = ints, scalar_top_ = scalars;
  }
}

void Lowering::statement(const ast::Stmt& stmt, Body& out) {
  std::visit(Overloaded{
                 [&](const ast::DoLoop& s) {
                   std::vector<const ast::Relation*> wheres;
                   for (const ast::Relation& w : s.wheres) wheres.push_back(&w);
                   loop({LoopKind::do_, {IndexId(row(s.index))}, {}, {}, {}, RankDependence::none, {}}, wheres, s.body,
                        s.end_index.span, out);
                 },
                 [&](const ast::SubLoop& s) {
                   std::vector<const ast::Relation*> wheres;
                   for (const ast::Relation& w : s.wheres) wheres.push_back(&w);
                   loop({LoopKind::sub, {IndexId(row(s.index))}, {}, {}, {}, RankDependence::none, {}}, wheres, s.body,
                        s.end_index.span, out);
                 },
                 [&](const ast::PardoLoop& s) {
                   const PardoInfo& info = checked_.pardos.at(&stmt);
                   Loop l{LoopKind::pardo, {}, {}, {}, s.pragma.value_or(""), info.rank_dependence, {}};
                   for (const ast::Name& index : s.indices) l.indices.push_back(IndexId(row(index)));
                   loop(std::move(l), info.wheres, s.body, s.end_indices.front().span, out);
                 },
                 [&](const ast::Section& s) { section(s, stmt, out); },
                 [&](const ast::If& s) { branch(s, out); },
                 [&](const ast::GpuSection& s) {
                   emit(out, Opcode::gpu_on, {});
                   append(s.body, out);
                   here_ = last_line(stmt.span);
                   emit(out, Opcode::gpu_off, {});
                 },
                 [&](const ast::Call& s) { emit(out, Opcode::call, {ProcId{row(s.proc)}}); },
                 [&](const ast::Return&) { emit(out, Opcode::ret, {}); },
                 [&](const ast::Stop&) { emit(out, Opcode::stop, {}); },
                 [&](const ast::Exit&) { emit(out, Opcode::exit_loop, {}); },
                 [&](const ast::Barrier& s) { emit(out, Opcode::barrier, {Flag{s.server}}); },
                 [&](const ast::Allocate& s) { allocate(s, out); },
                 [&](const ast::AllocateRegion& s) {
                   const Region r = region(s.region, Intent::write, out);
                   emit(out, s.deallocate ? Opcode::deallocate_region : Opcode::allocate_region, {r});
                 },
                 [&](const ast::Create& s) { emit(out, Opcode::create, {ArrayId{row(s.array)}}); },
                 [&](const ast::Delete& s) { emit(out, Opcode::erase_array, {ArrayId{row(s.array)}}); },
                 [&](const ast::Get& s) { emit(out, Opcode::get, {block(s.block, Intent::read)}); },
                 [&](const ast::Put& s) { put(s, checked_.puts.at(&stmt), out); },
                 [&](const ast::Collective& s) {
                   const std::int32_t value = scalar_value(*s.value, out);
                   emit(out, Opcode::collective_sum, {ScalarReg{row(s.target)}, ScalarReg{value}});
                 },
                 [&](const ast::AssertSame& s) { emit(out, Opcode::assert_same, {ScalarReg{row(s.scalar)}}); },
                 [&](const ast::Broadcast& s) {
                   const std::int32_t source = int_value(*s.source, out);
                   emit(out, Opcode::broadcast, {IntReg{source}, ArrayId{row(s.array)}});
                 },
                 [&](const ast::Print& s) { print(s, out); },
                 [&](const ast::Inspect& s) { inspect(s, out); },
                 [&](const ast::Execute& s) { execute(s, out); },
                 [&](const ast::Persistent& s) { persistent(s, out); },
                 [&](const ast::GpuOp& s) { gpu(s, out); },
                 [&](const ast::AssignName& s) { assign_name(s, out); },
                 [&](const ast::AssignBlock& s) {
                   const AssignInfo& info = checked_.assigns.at(&stmt);
                   assign_block(block(s.target, Intent::write), s.op, info, out);
                 },
                 [&](const ast::AssignRegion& s) { assign_region(s, checked_.assigns.at(&stmt), out); },
             },
             stmt.node);
}

void Lowering::loop(Loop l, const std::vector<const ast::Relation*>& wheres, const ast::Body& body, Span end,
                    Body& out) {
  Node& n = node(out, here_);
  for (const ast::Relation* relation : wheres) {
    const std::int32_t ints = int_top_, scalars = scalar_top_;
    Where& w = l.wheres.emplace_back();
    w.place = here_ = place(relation->span);
    w.condition = condition(*relation, w.code);
    int_top_ = ints, scalar_top_ = scalars;
  }
  append(body, l.body);
  l.end = place(end);
  n.value = std::move(l);
}

void Lowering::branch(const ast::If& s, Body& out) {
  const SourcePlace head = here_;
  const std::int32_t ints = int_top_, scalars = scalar_top_;
  If result;
  result.condition = condition(s.condition, out);
  int_top_ = ints, scalar_top_ = scalars;  // the test is over before the branches begin
  Node& n = node(out, head);
  append(s.then_body, result.then_body);
  append(s.else_body, result.else_body);
  n.value = std::move(result);
}

void Lowering::section(const ast::Section& s, const ast::Stmt& stmt, Body& out) {
  Node& n = node(out, here_);
  Section result;
  append(s.body, result.body);
  result.end = last_line(stmt.span);
  n.value = std::move(result);
}

// The operand is evaluated before the old value is read. A plain `=` computes straight into the variable.
void Lowering::assign_name(const ast::AssignName& s, Body& out) {
  const std::int32_t target = row(s.target);
  const bool is_int = checked_.symbol_of(s.target).kind == SymbolKind::int_;
  if (s.op == ast::AssignOp::set) {
    is_int ? int_value(*s.value, out, target) : scalar_value(*s.value, out, target);
    return;
  }
  if (is_int) {
    const std::int32_t value = int_value(*s.value, out);
    const Opcode op = s.op == ast::AssignOp::add        ? Opcode::int_add
                      : s.op == ast::AssignOp::subtract ? Opcode::int_sub
                                                        : Opcode::int_mul;
    emit(out, op, {IntReg{target}, IntReg{target}, IntReg{value}});
  } else {
    const std::int32_t value = scalar_value(*s.value, out);
    const Opcode op = s.op == ast::AssignOp::add        ? Opcode::real_add
                      : s.op == ast::AssignOp::subtract ? Opcode::real_sub
                                                        : Opcode::real_mul;
    emit(out, op, {ScalarReg{target}, ScalarReg{target}, ScalarReg{value}});
  }
}

void Lowering::assign_block(Block target, ast::AssignOp op, const AssignInfo& info, Body& out) {
  const auto left = [&] { return block(*info.left, Intent::read); };
  const auto right = [&] { return block(*info.right, Intent::read); };
  const auto with = [&](Intent intent) {
    target.intent = intent;
    return target;
  };
  switch (info.form) {
    case AssignForm::fill: {
      const std::int32_t value = scalar_value(*info.scalar, out);
      return emit(out, Opcode::block_fill, {with(Intent::write), ScalarReg{value}});
    }
    case AssignForm::add_scalar: {
      const std::int32_t value =
          op == ast::AssignOp::subtract ? negated(*info.scalar, out) : scalar_value(*info.scalar, out);
      return emit(out, Opcode::block_add_scalar, {with(Intent::update), ScalarReg{value}});
    }
    case AssignForm::scale: {
      const std::int32_t value = scalar_value(*info.scalar, out);
      return emit(out, Opcode::block_scale, {with(Intent::update), ScalarReg{value}});
    }
    case AssignForm::copy: return emit(out, Opcode::block_copy, {with(Intent::write), left()});
    case AssignForm::accumulate: return emit(out, Opcode::block_accumulate, {with(Intent::update), left(), setop(op)});
    case AssignForm::scaled_copy: {
      const std::int32_t value = scalar_value(*info.scalar, out);
      return emit(out, Opcode::block_scaled_copy, {with(Intent::write), left(), ScalarReg{value}});
    }
    case AssignForm::scaled_accumulate: {
      const std::int32_t value = scalar_value(*info.scalar, out);
      return emit(out, Opcode::block_scaled_accumulate, {with(Intent::update), left(), ScalarReg{value}, setop(op)});
    }
    case AssignForm::sum: return emit(out, Opcode::block_sum, {with(Intent::write), left(), right(), SetOp::add});
    case AssignForm::difference:
      return emit(out, Opcode::block_sum, {with(Intent::write), left(), right(), SetOp::subtract});
    case AssignForm::contract:
      return emit(out, Opcode::block_contract,
                  {with(op == ast::AssignOp::set ? Intent::write : Intent::update), left(), right(), setop(op)});
    case AssignForm::slice: return emit(out, Opcode::block_slice, {with(Intent::write), left()});
    case AssignForm::insert: return emit(out, Opcode::block_insert, {with(Intent::update), left()});
    case AssignForm::region_get: {
      Region source = region(*info.region, Intent::read, out);
      return emit(out, Opcode::region_get, {with(Intent::write), std::move(source)});
    }
    case AssignForm::region_put:
    case AssignForm::region_fill: break;
  }
  SIAL_CHECK(false, "a block assigned in form {}", static_cast<int>(info.form));
}

void Lowering::assign_region(const ast::AssignRegion& s, const AssignInfo& info, Body& out) {
  if (info.form == AssignForm::region_fill) {
    const std::int32_t value = scalar_value(*info.scalar, out);
    Region target = region(s.target, Intent::write, out);
    emit(out, Opcode::region_fill, {std::move(target), ScalarReg{value}});
  } else {
    SIAL_CHECK(info.form == AssignForm::region_put, "a region assigned in form {}", static_cast<int>(info.form));
    Region target = region(s.target, Intent::write, out);
    emit(out, Opcode::region_put, {std::move(target), block(*info.left, Intent::read)});
  }
}

void Lowering::put(const ast::Put& s, const PutInfo& info, Body& out) {
  const Intent intent = s.op == ast::AssignOp::set ? Intent::write : Intent::update;
  switch (info.form) {
    case PutForm::scalar: {
      const std::int32_t value = scalar_value(*info.value.scalar, out);
      return emit(out, Opcode::put_scalar, {block(s.block, intent), ScalarReg{value}, setop(s.op)});
    }
    case PutForm::block:
      return emit(out, Opcode::put_block, {block(s.block, intent), block(*info.value.left, Intent::read), setop(s.op)});
    case PutForm::expression: {
      Block temp = block(s.block, Intent::write);
      temp.array = ArrayId(rows_[static_cast<std::size_t>(info.hidden_temp)]);
      assign_block(temp, ast::AssignOp::set, info.value, out);
      temp.intent = Intent::read;
      return emit(out, Opcode::put_block, {block(s.block, intent), std::move(temp), setop(s.op)});
    }
  }
}

void Lowering::allocate(const ast::Allocate& s, Body& out) {
  Block b{ArrayId(row(s.array)), Intent::write, {}};
  if (s.selector) {
    for (const ast::WildcardIndex& w : *s.selector)
      b.entries.push_back({w.index ? IndexId(row(*w.index)) : no_index, false});
  } else {
    b.entries.assign(program_.arrays[b.array.at()].dims.size(), RefEntry{});
  }
  emit(out, s.deallocate ? Opcode::deallocate : Opcode::allocate, {std::move(b)});
}

void Lowering::persistent(const ast::Persistent& s, Body& out) {
  const Opcode op = s.restore ? Opcode::restore_persistent : Opcode::set_persistent;
  if (checked_.symbol_of(s.item).kind == SymbolKind::scalar) emit(out, op, {ScalarReg{row(s.item)}, Text{s.label}});
  else emit(out, op, {ArrayId{row(s.item)}, Text{s.label}});
}

void Lowering::print(const ast::Print& s, Body& out) {
  const ast::Expr& e = *s.value;
  const Flag line{s.newline};
  const ast::Expr& inner = bare(e);
  if (const auto* text = std::get_if<ast::StringLit>(&inner.node))
    return emit(out, Opcode::print_string, {Text{text->value}, line});
  if (const auto* r = std::get_if<ast::RegionExpr>(&inner.node)) {
    Region source = region(r->region, Intent::read, out);
    return emit(out, Opcode::print_region, {std::move(source), line});
  }
  if (const auto* b = std::get_if<ast::BlockExpr>(&inner.node)) {
    // A single element in parentheses is a number, without them a block of one.
    if (&inner == &e || checked_.type_of(e) == Type::block)
      return emit(out, Opcode::print_block, {block(b->block, Intent::read), line});
  }
  if (const auto* n = std::get_if<ast::NameExpr>(&inner.node)) {
    const Symbol& symbol = checked_.symbol_of(n->name);
    if (symbol.kind == SymbolKind::array) return emit(out, Opcode::print_array, {ArrayId{row(n->name)}, line});
    if (symbol.kind == SymbolKind::index && &inner == &e)
      return emit(out, Opcode::print_index, {IndexId{row(n->name)}, line});
  }
  const auto* named = std::get_if<ast::NameExpr>(&e.node);
  const Text name = named != nullptr ? Text{checked_.symbol_of(named->name).name} : Text{};
  if (checked_.type_of(e) == Type::scalar) {
    const std::int32_t value = scalar_value(e, out);
    emit(out, Opcode::print_scalar, {ScalarReg{value}, line, name});
  } else {
    const std::int32_t value = int_value(e, out);
    emit(out, Opcode::print_int, {IntReg{value}, line, name});
  }
}

void Lowering::inspect(const ast::Inspect& s, Body& out) {
  const bool elements = s.function.name == "elements";
  const auto pick = [&](Opcode summary, Opcode list) { return elements ? list : summary; };
  std::vector<Operand> operands;
  Opcode op;
  if (const auto* b = std::get_if<ast::Block>(&s.operand.node)) {
    op = pick(Opcode::inspect_block, Opcode::elements_block);
    operands.push_back(block(*b, Intent::read));
  } else if (const auto* r = std::get_if<ast::Region>(&s.operand.node)) {
    op = pick(Opcode::inspect_region, Opcode::elements_region);
    operands.push_back(region(*r, Intent::read, out));
  } else {
    op = pick(Opcode::inspect_array, Opcode::elements_array);
    operands.push_back(ArrayId{row(std::get<ast::Name>(s.operand.node))});
  }
  operands.push_back(Flag{s.newline});
  if (!elements) {
    operands.push_back(Flag{s.function.name == "max"});
    return emit(out, op, std::move(operands));
  }
  std::int32_t threshold, limit;
  if (!s.options.empty()) {
    threshold = scalar_value(*s.options[0], out);
  } else {
    threshold = new_scalar();
    emit(out, Opcode::real_const, {ScalarReg{threshold}, Real{0.0}});
  }
  if (s.options.size() > 1) {
    limit = int_value(*s.options[1], out);
  } else {
    limit = new_int();
    emit(out, Opcode::int_const, {IntReg{limit}, Imm{-1}});
  }
  operands.push_back(ScalarReg{threshold});
  operands.push_back(IntReg{limit});
  emit(out, op, std::move(operands));
}

void Lowering::execute(const ast::Execute& s, Body& out) {
  std::vector<Operand> operands{SpecialId{row(s.special)}};
  const std::string& letters = program_.specials[static_cast<std::size_t>(row(s.special))].signature;
  SIAL_CHECK(letters.size() == s.args.size(), "{} arguments for `{} {}`", s.args.size(), s.special.name, letters);
  for (std::size_t k = 0; k < s.args.size(); ++k)
    operands.push_back(argument(s.args[k], letter_intent(letters[k]), out));
  emit(out, Opcode::execute, std::move(operands));
}

void Lowering::gpu(const ast::GpuOp& s, Body& out) {
  switch (s.op) {
    case ast::GpuOpKind::allocate: return emit(out, Opcode::gpu_allocate, {argument(s.arg, Intent::write, out)});
    case ast::GpuOpKind::free: return emit(out, Opcode::gpu_free, {argument(s.arg, Intent::write, out)});
    case ast::GpuOpKind::put: return emit(out, Opcode::gpu_put, {argument(s.arg, Intent::read, out)});
    case ast::GpuOpKind::get: return emit(out, Opcode::gpu_get, {argument(s.arg, Intent::update, out)});
  }
}

Operand Lowering::argument(const ast::Arg& arg, Intent intent, Body& out) {
  return std::visit(
      Overloaded{
          [&](const ast::Block& b) -> Operand { return block(b, intent); },
          [&](const ast::Region& r) -> Operand { return region(r, intent, out); },
          [&](const ast::Name& n) -> Operand {
            if (checked_.symbol_of(n).kind == SymbolKind::scalar) return ScalarArg{row(n), intent};
            return ArrayArg{ArrayId(row(n)), intent};
          },
          [&](const ast::IntLit& l) -> Operand { return IntArg{static_cast<std::int32_t>(l.value), intent}; },
          [&](const ast::RealLit& l) -> Operand { return RealArg{l.value, intent}; },
      },
      arg.node);
}

}  // namespace sial::ir
